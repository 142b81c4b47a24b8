package judge

import "testing"

// BootRequest describes a machine at its first boot. Files, mount points and
// device names are those of the guest unless the comment says otherwise.
type BootRequest struct {
	Disks []Disk `json:"disks,omitempty"`
	NICs  []NIC  `json:"nics,omitempty"`
	// Cmdline is the kernel's command line.
	Cmdline string `json:"cmdline,omitempty"`
	// DMI has firmware values by dmidecode's names, such as
	// system-serial-number and system-uuid.
	DMI map[string]string `json:"dmi,omitempty"`
	// DataSources is the image's datasource_list; NoCloud, ConfigDrive, None if
	// empty. A list of one skips detection, so keep None in it.
	DataSources []string `json:"datasources,omitempty"`
	// SystemConfig is YAML of the image's /etc/cloud/cloud.cfg, for what a test
	// wants besides, such as datasource: {NoCloud: {seedfrom: …}}.
	SystemConfig string `json:"system_config,omitempty"`
	// Distro is the guest's distribution by cloud-init's name; debian if empty.
	Distro string `json:"distro,omitempty"`
	// Files are in the image before it boots, by absolute path, for example
	// below /var/lib/cloud/seed/nocloud.
	Files map[string][]byte `json:"files,omitempty"`
	// NetworkStageOnly leaves out the local stage, for sources that would
	// configure a NIC there.
	NetworkStageOnly bool `json:"network_stage_only,omitempty"`
	// Consume makes user-data take effect too, as far as no program is run.
	Consume bool `json:"consume,omitempty"`
	// Network is where the guest finds the servers of the test; without one it
	// reaches those on the loopback interface alone. The guest's DHCP is taken
	// for done.
	Network *Network `json:"-"`
	// Modules run after Consume; see UserDataInput.
	Modules []string `json:"modules,omitempty"`
	// Render names the renderers to write the network configuration with.
	Render []Renderer `json:"render,omitempty"`
	// Reboot boots once more, with NextDisks instead of the disks; see
	// BootResult.Rebooted.
	Reboot    bool   `json:"reboot,omitempty"`
	NextDisks []Disk `json:"next_disks,omitempty"`
	// RenderDistro is the distribution whose paths the renderers use; one that
	// fits the renderer if empty.
	RenderDistro string `json:"render_distro,omitempty"`
}

// Disk is a disk image: Path on this machine, Device in the guest. Type and
// label are what util-linux finds in the image.
type Disk struct {
	Path   string `json:"path"`
	Device string `json:"device"` // such as /dev/vdb or /dev/sr0
}

// NIC is a network interface that the guest's kernel found.
type NIC struct {
	MAC  string `json:"mac"` // any case; the kernel reports lower case
	Name string `json:"name"`
}

// BootResult is what the guest derived from its seed.
type BootResult struct {
	// DataSource is the class that was found, such as DataSourceNoCloud;
	// DataSourceNone is the fallback without a seed. Empty if none was found.
	DataSource string `json:"data_source"`
	Text       string `json:"text"`  // the source's own description, with its seed and mode
	Stage      string `json:"stage"` // where it was found: local or net
	Mode       string `json:"mode"`  // dsmode: local, net, pass, disabled
	// UserDataProcessed reports whether any stage would process user-data.
	UserDataProcessed bool `json:"user_data_processed"`

	InstanceID  string   `json:"instance_id"`
	Hostname    string   `json:"hostname"`
	FQDN        string   `json:"fqdn"`
	PublicKeys  []string `json:"public_keys"`
	MetaData    Value    `json:"meta_data"`
	UserData    []byte   `json:"user_data"`    // as it was read
	VendorData  [][]byte `json:"vendor_data"`  // one element unless the seed has a list
	VendorData2 [][]byte `json:"vendor_data2"` // OpenStack's vendor_data2

	// NetworkConfig is what the guest applies, as version 1 or 2; without a Tag
	// if networking is disabled. NetworkSource is ds, cmdline, initramfs,
	// system_cfg or fallback.
	NetworkConfig Value  `json:"network_config"`
	NetworkSource string `json:"network_source"`
	// NetworkError is the exception that the configuration caused when read.
	NetworkError string `json:"network_error"`
	// MissingNICs is the error with which the local stage ends because the
	// configuration names a MAC that no NIC has. It needs BootRequest.NICs.
	MissingNICs string                 `json:"missing_nics"`
	Rendered    map[Renderer]Rendering `json:"rendered"`

	Consumed *ConsumeResult `json:"consumed"` // with Consume, if a stage would process user-data
	// Rebooted is the local stage of the next boot, with Reboot.
	Rebooted *Rebooted  `json:"rebooted"`
	Log      []LogEntry `json:"log"`
	Err      string     `json:"error"` // why there is no data source
}

// Rebooted is a boot of a machine that has been set up.
type Rebooted struct {
	DataSource string   `json:"data_source"` // empty if there was none
	InstanceID string   `json:"instance_id"`
	New        bool     `json:"new"`   // the guest takes this for a first boot
	Asked      []string `json:"asked"` // the sources that were searched
	Err        string   `json:"error"`
}

// Boot boots a machine up to the network stage inside cloud-init's own code. It
// skips the test when a program to read seed images is missing.
func (r *Release) Boot(tb testing.TB, request BootRequest) BootResult {
	tb.Helper()
	if len(request.Disks) > 0 {
		needTools(tb, "blkid", "xorriso", "mcopy")
	}
	input := struct {
		BootRequest
		Metadata bool `json:"metadata"` // addresses of metadata services exist
	}{request, request.Network != nil}
	var answer BootResult
	askIn(tb, request.Network, r.Root, "boot", input, &answer)
	return answer
}
