package ovirtapi

import (
	"net/http"
	"strings"
)

// handler answers a request. Its error becomes a fault.
type handler func(*request) (reply, error)

// endpoint is a resource. Methods that oVirt's API has there and this one has not are in none.
type endpoint struct {
	// path has variables in braces.
	path                string
	get, put, post, del handler
	// body is the name of the root element of requests with one.
	body string
	// none are methods that answer 501.
	none string
}

func (e *endpoint) allow() []string {
	var list []string
	for _, m := range [...]struct {
		name    string
		offered bool
	}{{"GET", e.get != nil}, {"HEAD", e.get != nil}, {"POST", e.post != nil}, {"PUT", e.put != nil}, {"DELETE", e.del != nil}, {"OPTIONS", true}} {
		if m.offered {
			list = append(list, m.name)
		}
	}
	return list
}

func (e *endpoint) handler(method string) (handler, *fault) {
	var h handler
	switch method {
	case http.MethodGet:
		h = e.get
	case http.MethodPut:
		h = e.put
	case http.MethodPost:
		h = e.post
	case http.MethodDelete:
		h = e.del
	}
	switch {
	case h != nil:
		return h, nil
	case strings.Contains(e.none, method):
		return nil, notOffered(method + " on " + Prefix + "/" + e.path + " is a part of oVirt's API that vmseed does not have")
	}
	return nil, &fault{status: http.StatusMethodNotAllowed, reason: "Method not allowed", code: CodeSyntax,
		detail: method + " is not possible here; allowed are " + strings.Join(e.allow(), ", "), allow: e.allow()}
}

// router finds endpoints by the segments of a path.
type router struct{ root node }

type node struct {
	names    map[string]*node
	variable *node
	endpoint *endpoint
}

func newRouter(endpoints []endpoint) router {
	r := router{}
	for i := range endpoints {
		at := &r.root
		for segment := range strings.SplitSeq(endpoints[i].path, "/") {
			if segment == "" {
				continue
			}
			at = at.grow(segment)
		}
		at.endpoint = &endpoints[i]
	}
	return r
}

func (n *node) grow(segment string) *node {
	if segment[0] == '{' {
		if n.variable == nil {
			n.variable = &node{}
		}
		return n.variable
	}
	if n.names == nil {
		n.names = map[string]*node{}
	}
	if n.names[segment] == nil {
		n.names[segment] = &node{}
	}
	return n.names[segment]
}

// find gives the endpoint of a path and its variable segments. A path of oVirt's API that is not here is a 501, any
// other path a 404.
func (r router) find(segments []string) (*endpoint, []string, *fault) {
	at := &r.root
	var ids []string
	for i, s := range segments {
		next := at.names[s]
		if next == nil && at.variable != nil {
			next = at.variable
			ids = append(ids, s)
		}
		if next == nil {
			return nil, nil, elsewhere(segments, i)
		}
		at = next
	}
	if at.endpoint == nil {
		return nil, nil, elsewhere(segments, len(segments)-1)
	}
	return at.endpoint, ids, nil
}

// elsewhere is the answer for a path that leaves what there is at segment i.
func elsewhere(segments []string, i int) *fault {
	if known(segments[0], segments[i]) {
		return notOffered(Prefix + "/" + strings.Join(segments[:i+1], "/") + " is a part of oVirt's API that vmseed does not have")
	}
	return &fault{status: http.StatusNotFound, reason: reasonFailed, detail: "there is nothing at " + Prefix + "/" + strings.Join(segments, "/"), code: CodeEntity}
}

// known says whether the engine's API has a collection, object or action of that name. Below a top-level
// collection that is not offered as a whole, everything is known.
func known(top, name string) bool {
	switch top {
	case "affinitylabels", "bookmarks", "clusterlevels", "cpuprofiles", "diskprofiles", "domains", "externalhostproviders", "externaltemplateimports",
		"externalvmimports", "groups", "icons", "imagetransfers", "instancetypes", "katelloerrata", "macpools", "networkfilters",
		"openstackimageproviders", "openstacknetworkproviders", "openstackvolumeproviders", "options", "permissions", "reloadconfigurations", "roles",
		"schedulingpolicies", "schedulingpolicyunits", "storageconnections", "users", "vmpools":
		return true
	}
	return strings.Contains(knownBelow, " "+name+" ")
}

// knownBelow are the names below the collections that are here (ovirt-engine-api-model, package services).
const knownBelow = " activate addexternalvm affinitygroups affinitylabels affinityrules agents allocatevms approve " +
	"assignednetworks attach attachedstoragedomains autopincpuandnumanodes backups balances cancelmigration checkpoints " +
	"cleanfinishedtasks clear clearalerts clone commit commitnetconfig commitsnapshot convert copy copyhostnetworks cpuprofiles cpuunits " +
	"deactivate detach devices discoveriscsi diskprofiles disks disksnapshots enabledfeatures end enrollcertificate events export " +
	"exporttopathonhost externalnetworkproviderconfigurations externalnetworkproviders features fence fenceagents files filters " +
	"floppies forceselectspm freezefilesystems glusterhooks glustervolumes hooks hostdevices hostnics import install installinfra " +
	"isattached iscsibonds iscsidetails iscsidiscover iscsilogin katelloerrata logon mailboxes maintenance mdevs mediateddevices " +
	"migrate move networkattachments networkfilterparameters networkfilters networklabels networks nics numanodes permissions " +
	"previewsnapshot proxyconnectionfile proxyticket qoss quotas reduce reduceluns refresh refreshglusterhealstatus refreshhosts " +
	"refreshlun refreshluns register remoteviewerconnectionfile reordermacaddresses resetemulatedmachine restore roles " +
	"scheduledstoragedomainresize screenshot sealed setmaster setupnetworks snapshots sparsify statistics storage " +
	"storageconnectionextensions storageconnections suspend switchmasterstoragedomain sync syncallnetworks syncnetworks tags " +
	"thawfilesystems ticket undelete undosnapshot unmanagednetworks unregisteredstoragedomainsdiscover updatememory updateovfstore " +
	"upgrade upgradecheck vmpools vms watchdog watchdogs weights "
