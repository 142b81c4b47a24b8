//go:build e2e

package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// served is a machine that fetches its seed by HTTP: with documents of two authors, which every data source carries in its
// own way, and sealed when its first boot is over.
func served(t *testing.T, f fixtures, name, network string) string {
	return writeFile(t, name+".yaml", `apiVersion: vmseed.dev/v1alpha1
kind: Machine
metadata: {name: `+name+`, namespace: cloud}
spec:
  identity: {hostname: `+name+`, domain: lab.example.org, region: zh-lab-1, availabilityZone: zh-lab-1a}
  metadataOptions: {seal: true}
  guest: {timezone: Europe/Zurich}
  users:
  - default: true
    sshAuthorizedKeys: ["`+f.public+`"]
  - name: alice
    gecos: Alice Example
    shell: /bin/bash
    sshAuthorizedKeys: ["`+f.public+`"]
  files:
  - {path: /etc/from-the-machine, mode: "0640", owner: "root:adm", content: "a file of the machine\n"}
  runcmd:
  - [sh, -c, "echo machine >>/var/lib/commands"]
  userData:
    layers:
    - |
      #cloud-config
      write_files:
      - {path: /etc/from-the-user, content: "a file of the user\n"}
      runcmd:
      - [sh, -c, "echo user >>/var/lib/commands"]
      locale: C.UTF-8
  vendorData:
  - |
    #cloud-config
    # Its end is that of cloud-init's own, by which a console tells that a boot is over.
    final_message: "the vendor has spoken\nCloud-init v. ${version} finished at ${timestamp}. Datasource ${datasource}.  Up ${uptime} seconds"
    locale: en_US.UTF-8
`+network)
}

// servedChecks hold whichever way the guest fetched its seed.
func servedChecks(name, cloud, source string) []check {
	return []check{
		{"cloud-init's own verdict", "cloud-init status", "status: done"},
		{"cloud", "cloud-id", cloud},
		{"data source", `python3 -c 'import json; print(json.load(open("/run/cloud-init/result.json"))["v1"]["datasource"].split(",")[0])'`, source},
		{"no volume", "lsblk -n -o LABEL | grep -i -c -x -e cidata -e config-2", "0"},
		{"host name", "hostname", name},
		{"time zone", "timedatectl show -p Timezone --value", "Europe/Zurich"},
		{"user alice", "getent passwd alice | cut -d: -f5,7; awk '{print $NF}' /home/alice/.ssh/authorized_keys", "Alice Example:/bin/bash\noperator@e2e"},
		{"key of the default user", "awk '{print $NF}' /home/debian/.ssh/authorized_keys | sort -u", "operator@e2e"},
		file("/etc/from-the-machine", "640", "root:adm", "a file of the machine"),
		file("/etc/from-the-user", "644", "root:root", "a file of the user"),
		{"the vendor's word", "grep -c '^the vendor has spoken' /var/log/cloud-init-output.log", "1"},
		{"the user's word counts more than the vendor's", "grep -c ^LANG=C.UTF-8 /etc/default/locale", "1"},
		{"commands", "sort /var/lib/commands", "machine\nuser"},
	}
}

// fetcher is a program for the guest that prints the status of an answer, and the answer when that is 200. It is made in a
// check of its own, and is there for those after it.
const fetcher = `cat >/usr/local/bin/fetch <<'END'
#!/usr/bin/python3
import sys, urllib.error, urllib.request
method, path, headers = sys.argv[1], sys.argv[2], dict(h.split(": ", 1) for h in sys.argv[3:])
base = "" if path.startswith("http:") else "http://169.254.169.254/"
data = headers.pop("body", "").encode() if method in ("POST", "PUT") else None
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
try:
    with opener.open(urllib.request.Request(base + path, data, headers, method=method), timeout=20) as answer:
        print(answer.status, answer.read().decode())
except urllib.error.HTTPError as e:
    print(e.code)
except OSError as e:
    print("no answer")
END
chmod 755 /usr/local/bin/fetch`

// elsewhere are checks that the guest reaches nothing but its own.
func elsewhere() []check {
	return []check{
		{"the address has no other port", "/usr/local/bin/fetch GET http://169.254.169.254:8080/", "no answer"},
		{"nothing at the address of IPv6", "/usr/local/bin/fetch GET 'http://[fd00:ec2::254]/latest/'", "no answer"},
		{"nothing beside the address", "/usr/local/bin/fetch GET http://169.254.169.253/", "no answer"},
		{"nothing of others", "/usr/local/bin/fetch GET nocloud/cloud_other/user-data; /usr/local/bin/fetch GET nocloud/cloud_other.c2lnbmF0dXJl/user-data; /usr/local/bin/fetch GET ../../etc/passwd",
			"404\n404\n404"},
		{"forged identity", "/usr/local/bin/fetch GET vmseed/ 'X-Instance-ID: i-1' 'X-Instance-ID-Signature: 00'", "404"},
	}
}

// heard checks that the guest's reporter and the guest over HTTP have told of the first boot to its end. Of both the
// reporter's word counts, which says more.
func heard(t *testing.T, v *vm, directory string) {
	t.Helper()
	var kept struct{ Last []byte }
	if err := json.Unmarshal([]byte(read(t, filepath.Join(v.dir, directory, "intake.json"))), &kept); err != nil || len(kept.Last) == 0 {
		t.Errorf("no final word came over HTTP: %v", err)
	}
	first := v.inspect(t).State.FirstBoot
	if first == nil || first.Source != "agent" || first.Result == nil || !first.Result.FirstBoot || len(first.Result.HostKeys) == 0 {
		t.Errorf("vmseed inspect says of the first boot: %+v", first)
	}
}

// again starts the VM a second time, when its seed is sealed, and lets it find its data source without waiting for what it
// may not have any more.
func again(t *testing.T, v *vm, more ...check) {
	t.Helper()
	v.ask(t, "echo by hand >/etc/from-the-user")
	if !t.Run("second boot", func(t *testing.T) {
		start := time.Now()
		v.must(t, answerLimit, "restart", v.name)
		v.must(t, bootLimit, "wait", v.name, "--fail-on", "error", "--timeout", bootLimit.String())
		t.Logf("second boot: %.0f s", time.Since(start).Seconds())
	}) {
		return
	}
	v.examine(t, slices.Concat([]check{
		{"files are not written again", "cat /etc/from-the-user", "by hand"},
		{"commands are not run again", "sort /var/lib/commands", "machine\nuser"},
		{"one instance", "ls /var/lib/cloud/instances | wc -l", "1"},
		// Each of these is a second of waiting, or more. The log is that of all boots, so the first must not have waited either.
		{"no request was repeated", "grep -c -i -e 'please wait' -e 'giving up' -e 'attempt .* failed' /var/log/cloud-init.log", "0"},
		{"fetcher", fetcher, ""},
	}, more))
}

// ec2Served is a guest of EC2's service: its data source asks for session tokens, and nothing is to be had without.
func ec2Served(t *testing.T, f fixtures) scenario {
	const id = "latest/meta-data/instance-id"
	session := "token=$(/usr/local/bin/fetch PUT latest/api/token 'X-aws-ec2-metadata-token-ttl-seconds: 60' | cut -d' ' -f2)\n"
	get := func(path string) string {
		return session + `/usr/local/bin/fetch GET ` + path + ` "X-aws-ec2-metadata-token: $token"`
	}
	return scenario{
		name: "EC2 over HTTP", vm: "ec2", user: "debian",
		args:   size(served(t, f, "ec2", ""), "--datasource", "ec2", "--delivery", "metadata", "--image", f.image, "--accel", "tcg"),
		output: []string{"HTTP at http://169.254.169.254/", "finding the seed", "configuring", "running scripts", "first boot went well"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(placed(t, v), servedChecks("ec2", "aws", "DataSourceEc2Local"), []check{
				{"fetcher", fetcher, ""},
				{"firmware", "cut -c1-3 /sys/class/dmi/id/product_uuid; cmp -s /sys/class/dmi/id/product_uuid /sys/class/dmi/id/product_serial && echo the same", "ec2\nthe same"},
				{"instance id", "[ \"200 $(cat /var/lib/cloud/data/instance-id)\" = \"$(" + get(id) + ")\" ] && cut -c1-2 /var/lib/cloud/data/instance-id", "i-"},
				{"no session", "/usr/local/bin/fetch GET " + id + "; /usr/local/bin/fetch GET latest/user-data; /usr/local/bin/fetch GET latest/", "401\n401\n401"},
				{"no session of somebody else", "/usr/local/bin/fetch GET " + id + " 'X-aws-ec2-metadata-token: AQAEAABb'", "401"},
				{"no session through a proxy", "/usr/local/bin/fetch PUT latest/api/token 'X-aws-ec2-metadata-token-ttl-seconds: 60' 'X-Forwarded-For: 203.0.113.9'", "403"},
				{"an old version", get("2009-04-04/meta-data/local-hostname"), "200 ec2.lab.example.org"},
				{"instance identity", get("latest/dynamic/instance-identity/document") + ` | grep -o '"region" *: *"[^"]*"' | tr -d ' '`, `"region":"zh-lab-1"`},
				// The network is what DHCP says, for the NIC that the service names.
				{"IPv4 by DHCP", "ip -o -4 address show scope global | wc -l; ip -4 route show default | wc -l", "1\n1"},
				{"NIC of the service", get("latest/meta-data/mac") + " | cut -d' ' -f2 | grep -c -i -F -f - /sys/class/net/e*/address", "1"},
				{"withdrawn after the first boot", get("latest/user-data"), "404"},
				{"no other protocol", "/usr/local/bin/fetch GET openstack/; /usr/local/bin/fetch GET nocloud/user-data", "404\n404"},
			}, elsewhere(), behindRouter(id))
		},
		then: func(t *testing.T, v *vm) {
			heard(t, v, "cloud_ec2")
			again(t, v, check{"still there", get(id) + " | cut -c1-6", "200 i-"}, check{"still withdrawn", get("latest/user-data"), "404"})
		},
	}
}

// behindRouter puts a network namespace behind the guest, as a container on a bridge is: packets from there reach the
// service, answers come back, but none that carries a session token.
func behindRouter(path string) []check {
	return []check{
		{"a router in the guest", `nic=$(ip -o -4 route show default | awk '{print $5}')
			ip netns add behind && ip link add to-behind type veth peer name eth0 netns behind
			ip address add 10.200.0.1/24 dev to-behind && ip link set to-behind up
			ip -n behind address add 10.200.0.2/24 dev eth0 && ip -n behind link set eth0 up && ip -n behind link set lo up
			ip -n behind route add default via 10.200.0.1
			echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv4/conf/$nic/proxy_arp; echo 1 >/proc/sys/net/ipv4/conf/$nic/forwarding`, ""},
		{"behind it the service answers", "ip netns exec behind /usr/local/bin/fetch GET " + path, "401"},
		{"a session token does not arrive", "ip netns exec behind /usr/local/bin/fetch PUT latest/api/token 'X-aws-ec2-metadata-token-ttl-seconds: 60'", "no answer"},
		{"one hop nearer it does", "/usr/local/bin/fetch PUT latest/api/token 'X-aws-ec2-metadata-token-ttl-seconds: 60' | cut -d' ' -f1", "200"},
	}
}

// openstackServed is a guest of OpenStack's service, which has the network from there, and a place for a password.
func openstackServed(t *testing.T, f fixtures) scenario {
	network := `  network:
    nics:
    - name: lan
      mac: "52:54:00:12:34:56"
      mtu: 1400
      addresses: [192.0.2.10/24]
      gateway4: 192.0.2.1
      dns: {servers: [192.0.2.1], search: [lab.example.org]}
`
	return scenario{
		name: "OpenStack over HTTP", vm: "stack", user: "debian",
		args:   size(served(t, f, "stack", network), "--datasource", "openstack", "--delivery", "metadata", "--image", f.image, "--accel", "tcg"),
		output: []string{"HTTP at http://169.254.169.254/", "running scripts", "first boot went well"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(placed(t, v), servedChecks("stack", "openstack", "DataSourceOpenStackLocal [net"), []check{
				{"fetcher", fetcher, ""},
				{"firmware", "cat /sys/class/dmi/id/product_name", "OpenStack Nova"},
				{"instance id", "[ \"$(cat /var/lib/cloud/data/instance-id)\" = \"$(cat /sys/class/dmi/id/product_uuid)\" ] && echo the UUID", "the UUID"},
				{"MAC", "cat /sys/class/net/e*/address", "52:54:00:12:34:56"},
				{"MTU", "cat /sys/class/net/e*/mtu", "1400"},
				{"IPv4 address", "ip -o -4 address show scope global | awk '{print $4}'", "192.0.2.10/24"},
				{"default route", "ip -4 route show default | awk '{print $3}'", "192.0.2.1"},
				{"DNS", "resolvectl --no-pager dns | sed -n 's/^Link.*: //p'; resolvectl --no-pager domain | sed -n 's/^Link.*: //p'", "192.0.2.1\nlab.example.org"},
				{"versions", "/usr/local/bin/fetch GET openstack | grep -c -x -e '200 2012-08-10' -e 2018-08-27 -e latest", "3"},
				{"small tree of EC2, without sessions", "/usr/local/bin/fetch GET latest/meta-data/local-hostname", "200 stack.lab.example.org"},
				{"withdrawn after the first boot", "/usr/local/bin/fetch GET openstack/latest/user_data; /usr/local/bin/fetch GET 2018-08-27/user_data", "404\n404"},
				{"a password, once", `/usr/local/bin/fetch GET openstack/latest/password; /usr/local/bin/fetch POST openstack/latest/password 'body: ZW5jcnlwdGVk' | cut -d' ' -f1
					/usr/local/bin/fetch POST openstack/latest/password 'body: b3RoZXI='; /usr/local/bin/fetch GET openstack/latest/password`, "200 \n200\n409\n200 ZW5jcnlwdGVk"},
			}, elsewhere())
		},
		then: func(t *testing.T, v *vm) {
			heard(t, v, "cloud_stack")
			if out := v.must(t, answerLimit, "inspect", v.name); !strings.Contains(out, "ZW5jcnlwdGVk") {
				t.Error("vmseed inspect does not show the password that the guest has posted, encrypted")
			}
			again(t, v, check{"still withdrawn", "/usr/local/bin/fetch GET openstack/latest/user_data", "404"},
				check{"the password is still there", "/usr/local/bin/fetch GET openstack/latest/password", "200 ZW5jcnlwdGVk"})
		},
	}
}

// nocloudServed is a guest of NoCloud over HTTP, by the name that this has in cloud-init's documentation and by the older.
func nocloudServed(t *testing.T, f fixtures, program string) scenario {
	args := size(served(t, f, "net", ""), "--image", f.image, "--accel", "tcg")
	named := func(name ...string) string {
		dry := append(append([]string{"run", "--dry-run", "--state-dir", t.TempDir()}, args...), name...)
		_, command, _ := strings.Cut(tool(t, nil, program, dry...), "-smbios")
		serial, _, _ := strings.Cut(command, " -")
		return serial
	}
	if a, b := named("--datasource", "nocloud", "--delivery", "metadata"), named("--datasource", "nocloud-net"); a != b || !strings.Contains(a, "ds=nocloud") {
		t.Errorf("nocloud over HTTP sets %s, nocloud-net %s", a, b)
	}
	const where = "nocloud/"
	return scenario{
		name: "NoCloud over HTTP", vm: "net", user: "debian",
		args:   append(args, "--datasource", "nocloud-net"),
		output: []string{"HTTP at http://169.254.169.254/", "running scripts", "first boot went well"},
		checks: func(t *testing.T, v *vm) []check {
			return slices.Concat(placed(t, v), servedChecks("net", "nocloud", "DataSourceNoCloudNet [seed=dmi"), []check{
				{"fetcher", fetcher, ""},
				{"firmware", "cat /sys/class/dmi/id/product_serial", "ds=nocloud;dsmode=net;s=http://169.254.169.254/nocloud/"},
				{"IPv4 by DHCP", "ip -o -4 address show scope global | wc -l", "1"},
				// What is withdrawn is empty: cloud-init would take a directory that lacks a file for none.
				{"withdrawn after the first boot", "/usr/local/bin/fetch GET " + where + "user-data; /usr/local/bin/fetch GET " + where + "vendor-data", "200 \n200"},
				{"what stays", "/usr/local/bin/fetch GET " + where + "meta-data | grep -c instance-id", "1"},
				{"no other protocol", "/usr/local/bin/fetch GET openstack/; /usr/local/bin/fetch GET latest/meta-data/", "404\n404"},
			}, elsewhere())
		},
		then: func(t *testing.T, v *vm) {
			heard(t, v, "cloud_net")
			again(t, v, check{"still withdrawn", "/usr/local/bin/fetch GET " + where + "user-data", "200"})
		},
	}
}
