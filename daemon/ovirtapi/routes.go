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
	case "affinitylabels", "bookmarks", "cpuprofiles", "diskprofiles", "domains", "externalhostproviders", "externaltemplateimports",
		"externalvmimports", "groups", "icons", "imagetransfers", "instancetypes", "katelloerrata", "macpools", "networkfilters",
		"openstackimageproviders", "openstacknetworkproviders", "openstackvolumeproviders", "options", "permissions", "roles",
		"schedulingpolicies", "schedulingpolicyunits", "storageconnections", "users", "vmpools":
		return true
	}
	return strings.Contains(knownBelow, " "+name+" ")
}

// knownBelow are the names below the collections that are here (ovirt-engine-api-model, package services).
const knownBelow = " addexternalvm affinitygroups affinitylabels agents allocatevms approve assignednetworks attach attachedstoragedomains autopinningcpuandnumanodes " +
	"backups balances cancelmigration checkpoints clone commit commitnetconfig commitsnapshot copy deactivate activate detach discoveriscsi " +
	"diskprofiles disksnapshots enabledfeatures enrollcertificate export exporttopathonhost externalnetworkproviders features fence files " +
	"filters floppies forceselectspm freezefilesystems glustervolumes glusterhooks hooks hostdevices hostnics import installinfra iscsibonds " +
	"iscsidetails iscsilogin logon mailboxes maintenance mediateddevices migrate mdevs move networkattachments networkfilterparameters networklabels " +
	"numanodes permissions previewsnapshot proxyconnectionfile qoss quotas reduce refresh refreshhosts refreshlun register remoteviewerconnectionfile " +
	"reordermacaddresses resetemulatedmachine restore scheduledstoragedomainresize screenshot sealed setupnetworks snapshots sparsify " +
	"storage storageconnections suspend switchmasterstoragedomain sync syncallnetworks syncnetworks thawfilesystems ticket undosnapshot " +
	"unmanagednetworks unregisteredstoragedomainsdiscover updateovfstore updatememory upgrade upgradecheck vmpools watchdogs weights " +
	"watchdog affinityrules roles tags events clearalerts undelete "
