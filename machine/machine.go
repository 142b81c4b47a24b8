// Package machine holds the first of vmseed's two nouns: what a VM should be at its first boot, in neutral terms. Front
// ends read it out of documents, data sources turn it into what a guest reads, hypervisors into hardware.
//
// The names of the fields, as the tag `field` gives them, are the names of the native form (vmseed.dev/v1alpha1), of
// the matrix in docs/reference/fields.md and of messages.
package machine

import (
	"net/netip"
	"strings"
	"time"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/secret"
)

// Machine is one virtual machine as its author wants it. A zero field means that the document says nothing about it.
type Machine struct {
	// Name and Namespace identify the machine among others, as Kubernetes does. Namespace defaults to "default" where
	// one is needed.
	Name      string `field:"name"`
	Namespace string `field:"namespace"`

	Identity Identity `field:"identity"`
	Guest    Guest    `field:"guest"`

	Users  []User  `field:"users"`
	Groups []Group `field:"groups"`
	SSH    SSH     `field:"ssh"`
	// AdminPassword is the password of the administrator of a guest that takes it from the data source itself, such as
	// cloudbase-init on Windows. cloud-init ignores it and shows it to every user of the guest.
	AdminPassword secret.Text `field:"adminPassword"`

	Files       []File        `field:"files"`
	Environment []Variable    `field:"environment"`
	Mounts      []Mount       `field:"mounts"`
	DeviceLinks []DeviceLink  `field:"deviceLinks"`
	Network     Network       `field:"network"`
	BootCmd     []Command     `field:"bootcmd"`
	RunCmd      []Command     `field:"runcmd"`
	Scripts     []Script      `field:"scripts"`
	Packages    Packages      `field:"packages"`
	NTP         NTP           `field:"ntp"`
	CACerts     []secret.Text `field:"caCerts"`
	PhoneHome   PhoneHome     `field:"phoneHome"`
	PowerState  PowerState    `field:"powerState"`
	Keyboard    Keyboard      `field:"keyboard"`
	Units       []Unit        `field:"units"`
	Storage     Storage       `field:"storage"`
	// AgentUsers are credentials that reach the guest through its QEMU guest agent while it runs, not through the seed.
	AgentUsers []AgentUser `field:"agentUsers"`

	MetaData   []Layer  `field:"metaData"`
	UserData   UserData `field:"userData"`
	VendorData []Layer  `field:"vendorData"`
	// Ignition are the author's own Ignition configs, or Butane from which one is made. A later one is a child of those
	// before it: what it states wins.
	Ignition []Layer `field:"ignition"`

	Disks    []Disk   `field:"disks"`
	Shares   []Share  `field:"shares"`
	Media    []Media  `field:"media"`
	Hardware Hardware `field:"hardware"`
	Boot     Boot     `field:"boot"`

	// DataSource is the data source the document asks for by name, such as "configdrive".
	DataSource string `field:"dataSource"`
	// DSMode is cloud-init's dsmode: local, net or disabled.
	DSMode string `field:"dsmode"`
	// MetadataOptions are how the guest reads its metadata service, if it has one.
	MetadataOptions MetadataOptions `field:"metadataOptions"`
	// Compat is the system whose habits the seed keeps where its guests or clients can see them, kubevirt or ovirt: the
	// names, the values and the order of members of the meta-data. Empty means vmseed's own, which are those of cloud-init.
	Compat string `field:"compat"`
	// Running is false when the document wants the machine to exist, but not to run.
	Running *bool `field:"running"`
	// RestartPolicy is Always, OnFailure or Never.
	RestartPolicy string `field:"restartPolicy"`
	// StopGrace is how long the guest may take to shut down before it is cut off.
	StopGrace time.Duration `field:"stopGrace"`
	// Labels and Annotations are the author's own, without meaning to vmseed.
	Labels      map[string]string `field:"labels"`
	Annotations map[string]string `field:"annotations"`

	// Document is what the machine was read from, so that converting within one form keeps what vmseed does not model.
	Document Document `field:"-"`
	// Places says where the values stand in the document.
	Places Places `field:"-"`
}

// NoDataSource in the place of the name of a data source says that no seed is to be made: the guest is told by a medium of
// the machine's own, such as the answer file of Windows or a prepared drive, or not at all.
const NoDataSource = "none"

// MetadataOptions are how a guest reads its metadata service. The names are those of EC2's API. Only data sources that are
// read over HTTP honour any of them: ec2 all, the others the seal.
type MetadataOptions struct {
	// HTTPTokens is required: the paths of EC2 are read with a session token of IMDSv2; or optional. The default is required
	// with the data source ec2, and optional where `vmseed metadata` serves a machine without a data source by all protocols.
	HTTPTokens string `field:"httpTokens"`
	// HTTPPutResponseHopLimit is the IP time to live of the answers that carry a token, 1 (the default) to 64: how many
	// hops away in the guest a reader may be.
	HTTPPutResponseHopLimit int `field:"httpPutResponseHopLimit"`
	// Seal withdraws user-data, vendor-data and configs when the first boot is over. The instance data stay.
	Seal bool `field:"seal"`
}

// Document is the form and text that a machine was read from.
type Document struct {
	// Form is the name of the front end.
	Form string
	// Text is the document itself. It may hold secrets.
	Text secret.Text
}

// Identity is who the machine is.
type Identity struct {
	// UUID is the SMBIOS system UUID. Empty means that Place derives one from namespace and name.
	UUID string `field:"uuid"`
	// Serial is the SMBIOS system serial number.
	Serial string `field:"serial"`
	// InstanceID is what cloud-init compares to decide whether this boot is the first. Empty means that the data source
	// derives it from the machine's names.
	InstanceID string `field:"instanceID"`
	// Revision is appended to the instance id when it is not 0, so that first boot runs again.
	Revision int `field:"revision"`
	// UID is the UID of the Kubernetes object.
	UID string `field:"uid"`
	// Hostname is the short host name or the FQDN.
	Hostname string `field:"hostname"`
	// Domain is the DNS domain; with it the FQDN is Hostname.Domain.
	Domain string `field:"domain"`
	// Region, AvailabilityZone, InstanceType and CloudName are shown to the guest as instance data.
	Region           string `field:"region"`
	AvailabilityZone string `field:"availabilityZone"`
	InstanceType     string `field:"instanceType"`
	CloudName        string `field:"cloudName"`
	// LaunchIndex is the machine's number among machines launched together.
	LaunchIndex *int `field:"launchIndex"`
	// Tags are instance tags, shown to the guest as meta-data.
	Tags map[string]string `field:"tags"`
}

// FQDN returns the fully qualified host name, or the short one when no domain is known.
func (id Identity) FQDN() string {
	if id.Domain == "" || id.Hostname == "" || strings.HasSuffix(id.Hostname, "."+id.Domain) {
		return id.Hostname
	}
	return id.Hostname + "." + id.Domain
}

// Guest is what runs in the machine.
type Guest struct {
	// OS is the kind of guest: linux (default), coreos or windows.
	OS string `field:"os"`
	// Release names the guest for `check --guest`, such as debian-12.
	Release  string `field:"release"`
	Timezone string `field:"timezone"`
	Locale   string `field:"locale"`
	// IgnitionPlatform is the ignition.platform.id of the image, which decides where its Ignition looks: qemu (default),
	// openstack, kubevirt, proxmoxve or flatcar.
	IgnitionPlatform string `field:"ignitionPlatform"`
}

// User is an account of the guest.
type User struct {
	Name string `field:"name"`
	// Default marks the distribution's own default user. With it, the other fields adjust that user; a name calls it
	// otherwise.
	Default      bool     `field:"default"`
	Gecos        string   `field:"gecos"`
	UID          *int     `field:"uid"`
	PrimaryGroup string   `field:"primaryGroup"`
	Groups       []string `field:"groups"`
	Home         string   `field:"home"`
	NoCreateHome bool     `field:"noCreateHome"`
	Shell        string   `field:"shell"`
	System       bool     `field:"system"`
	// Password is in clear text; data sources hash it.
	Password       secret.Text `field:"password"`
	PasswordHash   secret.Text `field:"passwordHash"`
	LockPassword   *bool       `field:"lockPassword"`
	ExpirePassword bool        `field:"expirePassword"`
	// Inactive and Expires are passed to useradd: days after the password expired, and a date YYYY-MM-DD.
	Inactive          string   `field:"inactive"`
	Expires           string   `field:"expires"`
	SSHAuthorizedKeys []string `field:"sshAuthorizedKeys"`
	SSHImportID       []string `field:"sshImportID"`
	Sudo              []string `field:"sudo"`
}

// Group is a group of the guest.
type Group struct {
	Name    string   `field:"name"`
	GID     *int     `field:"gid"`
	Members []string `field:"members"`
}

// SSH is how the guest's SSH server is set up.
type SSH struct {
	// AuthorizedKeys are for the guest's default user.
	AuthorizedKeys []string  `field:"authorizedKeys"`
	HostKeys       []HostKey `field:"hostKeys"`
	// DeleteHostKeys removes the keys of the image first (cloud-init's ssh_deletekeys).
	DeleteHostKeys *bool `field:"deleteHostKeys"`
	// GenKeyTypes are the types of host keys that the guest makes: rsa, ecdsa and ed25519. Empty means those of its
	// distribution.
	GenKeyTypes  []string `field:"genKeyTypes"`
	PasswordAuth *bool    `field:"passwordAuth"`
	DisableRoot  *bool    `field:"disableRoot"`
}

// HostKey is a given SSH host key.
type HostKey struct {
	// Type is rsa, ecdsa or ed25519.
	Type        string      `field:"type"`
	Private     secret.Text `field:"private"`
	Public      string      `field:"public"`
	Certificate string      `field:"certificate"`
}

// File is a file that the guest writes at its first boot.
type File struct {
	// Path is absolute and clean.
	Path    string      `field:"path"`
	Content secret.Text `field:"content"`
	Mode    Mode        `field:"mode"`
	// Owner is user or user:group.
	Owner  string `field:"owner"`
	Append bool   `field:"append"`
	// Defer writes the file after users and packages exist.
	Defer bool `field:"defer"`
}

// Mode is the permission bits of a file with those of setuid, setgid and sticky, as chmod takes them. The zero value
// means the guest's default, 0644; a mode of 0000 is NoAccess.
type Mode uint32

// NoAccess is the mode 0000, which differs from a mode that is not given.
const NoAccess Mode = 1 << 31

// Bits returns the twelve permission bits.
func (m Mode) Bits() uint32 { return uint32(m) & 0o7777 }

// Variable is an environment variable.
type Variable struct {
	Name  string      `field:"name"`
	Value secret.Text `field:"value"`
}

// Command is a line for the guest's shell, or an argument vector that no shell touches. Exactly one is set.
type Command struct {
	Shell string   `field:"shell"`
	Args  []string `field:"args"`
}

// Script is an executable that the guest runs.
type Script struct {
	Name    string      `field:"name"`
	Content secret.Text `field:"content"`
	// Frequency is instance (default), boot or once, as cloud-init's per-instance, per-boot and per-once.
	Frequency string `field:"frequency"`
}

// Packages is what the guest's package manager should do.
type Packages struct {
	Update  bool     `field:"update"`
	Upgrade bool     `field:"upgrade"`
	Install []string `field:"install"`
}

// NTP is the guest's time synchronisation.
type NTP struct {
	Enabled *bool    `field:"enabled"`
	Servers []string `field:"servers"`
	Pools   []string `field:"pools"`
}

// Keyboard is the guest's keyboard layout.
type Keyboard struct {
	Layout  string `field:"layout"`
	Model   string `field:"model"`
	Variant string `field:"variant"`
	Options string `field:"options"`
}

// PhoneHome is cloud-init's phone_home.
type PhoneHome struct {
	URL   string   `field:"url"`
	Post  []string `field:"post"`
	Tries *int     `field:"tries"`
}

// PowerState is what the guest does when first boot is done.
type PowerState struct {
	// Mode is poweroff, reboot or halt.
	Mode    string        `field:"mode"`
	Delay   time.Duration `field:"delay"`
	Message string        `field:"message"`
	Timeout time.Duration `field:"timeout"`
	// Condition is a shell command that must succeed.
	Condition string `field:"condition"`
}

// Mount is a file system that the guest mounts. Exactly one of Disk, Share and Device is set.
type Mount struct {
	// Disk is the name of one of the machine's disks, Share the name of one of its shares, Device a name that is
	// passed to the guest as it is.
	Disk   string `field:"disk"`
	Share  string `field:"share"`
	Device string `field:"device"`
	// Partition of the disk, from 1; 0 is the whole disk.
	Partition int      `field:"partition"`
	Path      string   `field:"path"`
	Type      string   `field:"type"`
	Options   []string `field:"options"`
}

// DeviceLink is a symbolic link in the guest that leads to one of the machine's disks.
type DeviceLink struct {
	Path string `field:"path"`
	Disk string `field:"disk"`
}

// UserData is what the author wrote for the guest's first boot, in layers that the data source merges once.
type UserData struct {
	// Layers are merged in order; see Layer.Merge.
	Layers []Layer `field:"layers"`
	// Raw means that the last layer is all of the guest's user-data: nothing is merged into it, and whatever vmseed
	// would have generated is lost with a diagnostic each.
	Raw bool `field:"raw"`
	// MountScriptMark is a text in a script layer that is replaced by shell commands which link and mount the machine's
	// disks without udev, as Virtlet's @virtlet-mount-script@. Empty means none.
	MountScriptMark string `field:"mountScriptMark"`
	// MountScripts asks for /etc/cloud/mount-volumes.sh beside the mounts, as Virtlet writes it.
	MountScripts bool `field:"mountScripts"`
}

// Merge says how a layer joins those before it.
type Merge string

// The ways to merge.
const (
	// MergeParts is cloud-init's own merging of parts, with the layer's merge_how or cloud-init's default.
	MergeParts Merge = ""
	// MergeVirtlet appends lists, lets later scalars win and deletes by null.
	MergeVirtlet Merge = "virtlet"
	// MergeReplace drops the layers before.
	MergeReplace Merge = "replace"
)

// Layer is one document of user-data, vendor-data or meta-data.
type Layer struct {
	// Name says in words where the layer is from, such as "annotation VirtletCloudInitUserData".
	Name  string      `field:"name"`
	Data  secret.Text `field:"data"`
	Merge Merge       `field:"merge"`
	// Origin says where the data stands in the files of the user.
	Origin diag.Origin `field:"-"`
}

// Network is how the guest's network is set up.
type Network struct {
	// Mode is empty (what NICs and Document say), dhcp (write no network document, the guest's fallback applies) or
	// disabled.
	Mode string `field:"mode"`
	// Format is the form of the network document that a config drive carries: empty is network_data.json, eni is the text
	// of Debian's interfaces(5). Other data sources have one form each.
	Format string `field:"format"`
	NICs   []NIC  `field:"nics"`
	// DNS is for all NICs.
	DNS DNS `field:"dns"`
	// Document is the author's own network document. It is passed as it is where the data source reads its form.
	Document Layer `field:"document"`
}

// DNS is name resolution.
type DNS struct {
	Servers []netip.Addr `field:"servers"`
	Search  []string     `field:"search"`
	Options []string     `field:"options"`
}

// NIC is a network interface of the machine, or one that the guest builds from others.
type NIC struct {
	// Name identifies the NIC in the document.
	Name string `field:"name"`
	// Kind is physical (default), bond, bridge or vlan.
	Kind string `field:"kind"`
	// Rename is the name that the guest should give the interface.
	Rename string `field:"rename"`
	// MAC is in lower case with colons. Empty means that Place derives one.
	MAC string `field:"mac"`
	// Match is how the guest finds the interface: by its MAC (mac, the default), or by the name that it has in the guest
	// already (name), which is Rename, else Name. It is for machines whose MACs somebody else gives.
	Match string `field:"match"`
	MTU   int    `field:"mtu"`
	// DHCP4 and DHCP6 ask for leases; DHCP6 is empty, stateful or stateless. SLAAC takes addresses from router
	// advertisements.
	DHCP4    bool           `field:"dhcp4"`
	DHCP6    string         `field:"dhcp6"`
	SLAAC    bool           `field:"slaac"`
	AcceptRA *bool          `field:"acceptRA"`
	Addrs    []netip.Prefix `field:"addresses"`
	Gateway4 netip.Addr     `field:"gateway4"`
	Gateway6 netip.Addr     `field:"gateway6"`
	Routes   []Route        `field:"routes"`
	DNS      DNS            `field:"dns"`
	// OnBoot is false when the guest should leave the interface down.
	OnBoot *bool `field:"onBoot"`

	Bond   Bond   `field:"bond"`
	Bridge Bridge `field:"bridge"`
	VLAN   VLAN   `field:"vlan"`

	// Model is the NIC's hardware, such as virtio (default) or e1000e.
	Model     string `field:"model"`
	Network   string `field:"network"`
	PCI       string `field:"pciAddress"`
	BootOrder int    `field:"bootOrder"`
	Tag       string `field:"tag"`
	LinkDown  bool   `field:"linkDown"`
}

// Route is a route of a NIC.
type Route struct {
	To     netip.Prefix `field:"to"`
	Via    netip.Addr   `field:"via"`
	Metric *int         `field:"metric"`
	// OnLink means that the gateway is reached directly although no address of the NIC covers it.
	OnLink bool `field:"onLink"`
}

// Bond makes an interface of several others. Params have netplan's names, such as mii-monitor-interval.
type Bond struct {
	Links  []string          `field:"links"`
	Mode   string            `field:"mode"`
	Params map[string]string `field:"params"`
}

// Bridge makes an interface that switches between others. Params have netplan's names, such as forward-delay.
type Bridge struct {
	Links  []string          `field:"links"`
	Params map[string]string `field:"params"`
}

// VLAN makes an interface of one tag of another.
type VLAN struct {
	Link string `field:"link"`
	ID   int    `field:"id"`
}
