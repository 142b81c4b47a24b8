package libvirt

import "encoding/xml"

// The elements of a domain that vmseed writes, as https://libvirt.org/formatdomain.html describes them. The order of the
// members is that of the elements.

type domain struct {
	XMLName       xml.Name `xml:"domain"`
	Type          string   `xml:"type,attr"`
	Name          string   `xml:"name"`
	UUID          string   `xml:"uuid,omitempty"`
	Title         string   `xml:"title,omitempty"`
	Memory        quantity `xml:"memory"`
	MemoryBacking *backing `xml:"memoryBacking"`
	VCPU          int      `xml:"vcpu"`
	CPUTune       *cpuTune `xml:"cputune"`
	SysInfo       []sysInfo
	OS            osElement `xml:"os"`
	Features      features  `xml:"features"`
	CPU           cpu       `xml:"cpu"`
	Clock         offset    `xml:"clock"`
	OnPoweroff    string    `xml:"on_poweroff"`
	OnReboot      string    `xml:"on_reboot"`
	OnCrash       string    `xml:"on_crash"`
	Devices       devices   `xml:"devices"`
}

type quantity struct {
	Unit  string `xml:"unit,attr"`
	Value int64  `xml:",chardata"`
}

type backing struct {
	Source modeAttr `xml:"source"`
	Access modeAttr `xml:"access"`
}

type modeAttr struct {
	Type string `xml:"type,attr,omitempty"`
	Mode string `xml:"mode,attr,omitempty"`
}

type cpuTune struct {
	Shares int64 `xml:"shares,omitempty"`
	Period int64 `xml:"period,omitempty"`
	Quota  int64 `xml:"quota,omitempty"`
}

type sysInfo struct {
	XMLName xml.Name `xml:"sysinfo"`
	Type    string   `xml:"type,attr"`
	System  *entries `xml:"system"`
	Chassis *entries `xml:"chassis"`
	Entry   []entry  `xml:"entry"`
}

type entries struct {
	Entry []entry `xml:"entry"`
}

type entry struct {
	Name  string `xml:"name,attr"`
	File  string `xml:"file,attr,omitempty"`
	Value string `xml:",chardata"`
}

type osElement struct {
	Firmware string       `xml:"firmware,attr,omitempty"`
	Type     osType       `xml:"type"`
	Loader   *loader      `xml:"loader"`
	Flags    *loaderFlags `xml:"firmware"`
	Kernel   string       `xml:"kernel,omitempty"`
	Initrd   string       `xml:"initrd,omitempty"`
	CmdLine  string       `xml:"cmdline,omitempty"`
	SMBIOS   *modeAttr    `xml:"smbios"`
}

type osType struct {
	Arch    string `xml:"arch,attr"`
	Machine string `xml:"machine,attr,omitempty"`
	Value   string `xml:",chardata"`
}

type loader struct {
	Secure string `xml:"secure,attr"`
}

type loaderFlags struct {
	Feature []feature `xml:"feature"`
}

type feature struct {
	Enabled string `xml:"enabled,attr"`
	Name    string `xml:"name,attr"`
}

type features struct {
	ACPI *struct{} `xml:"acpi"`
	APIC *struct{} `xml:"apic"`
	SMM  *state    `xml:"smm"`
}

type state struct {
	State string `xml:"state,attr"`
}

type cpu struct {
	Mode     string       `xml:"mode,attr,omitempty"`
	Match    string       `xml:"match,attr,omitempty"`
	Model    *cpuModel    `xml:"model"`
	Topology *topology    `xml:"topology"`
	Feature  []cpuFeature `xml:"feature"`
}

type cpuModel struct {
	Fallback string `xml:"fallback,attr"`
	Value    string `xml:",chardata"`
}

type topology struct {
	Sockets int `xml:"sockets,attr"`
	Cores   int `xml:"cores,attr"`
	Threads int `xml:"threads,attr"`
}

type cpuFeature struct {
	Policy string `xml:"policy,attr"`
	Name   string `xml:"name,attr"`
}

type offset struct {
	Offset string `xml:"offset,attr"`
}

type devices struct {
	Disk       []disk
	Controller []controller
	Filesystem []filesystem
	Interface  []networkCard
	Serial     device  `xml:"serial"`
	Console    device  `xml:"console"`
	Channel    channel `xml:"channel"`
	HostDev    []hostDev
	Watchdog   *watchdog `xml:"watchdog"`
	TPM        *tpm      `xml:"tpm"`
	RNG        rng       `xml:"rng"`
}

type disk struct {
	XMLName   xml.Name  `xml:"disk"`
	Type      string    `xml:"type,attr"`
	Device    string    `xml:"device,attr"`
	Driver    driver    `xml:"driver"`
	Source    source    `xml:"source"`
	Target    target    `xml:"target"`
	Serial    string    `xml:"serial,omitempty"`
	Boot      *boot     `xml:"boot"`
	ReadOnly  *struct{} `xml:"readonly"`
	Shareable *struct{} `xml:"shareable"`
	Address   *address  `xml:"address"`
}

type driver struct {
	Name  string `xml:"name,attr"`
	Type  string `xml:"type,attr,omitempty"`
	Cache string `xml:"cache,attr,omitempty"`
}

type source struct {
	File     string    `xml:"file,attr,omitempty"`
	Dev      string    `xml:"dev,attr,omitempty"`
	Dir      string    `xml:"dir,attr,omitempty"`
	Network  string    `xml:"network,attr,omitempty"`
	Protocol string    `xml:"protocol,attr,omitempty"`
	Name     string    `xml:"name,attr,omitempty"`
	Host     []host    `xml:"host"`
	Address  *pciPlace `xml:"address"`
}

type host struct {
	Name string `xml:"name,attr"`
	Port string `xml:"port,attr,omitempty"`
}

type target struct {
	Dev string `xml:"dev,attr,omitempty"`
	Bus string `xml:"bus,attr,omitempty"`
	// Type and Name are those of a channel.
	Type string `xml:"type,attr,omitempty"`
	Name string `xml:"name,attr,omitempty"`
}

type boot struct {
	Order int `xml:"order,attr"`
}

// address is where a disk stands on a SCSI controller.
type address struct {
	Type       string `xml:"type,attr"`
	Controller int    `xml:"controller,attr"`
	Bus        int    `xml:"bus,attr"`
	Target     int    `xml:"target,attr"`
	Unit       int    `xml:"unit,attr"`
}

type pciPlace struct {
	Domain   string `xml:"domain,attr"`
	Bus      string `xml:"bus,attr"`
	Slot     string `xml:"slot,attr"`
	Function string `xml:"function,attr"`
}

type controller struct {
	XMLName xml.Name `xml:"controller"`
	Type    string   `xml:"type,attr"`
	Index   int      `xml:"index,attr"`
	Model   string   `xml:"model,attr"`
}

type filesystem struct {
	XMLName    xml.Name    `xml:"filesystem"`
	Type       string      `xml:"type,attr"`
	AccessMode string      `xml:"accessmode,attr,omitempty"`
	Driver     *modeAttr   `xml:"driver"`
	Source     source      `xml:"source"`
	Target     shareTarget `xml:"target"`
	ReadOnly   *struct{}   `xml:"readonly"`
}

type shareTarget struct {
	Dir string `xml:"dir,attr"`
}

type networkCard struct {
	XMLName xml.Name  `xml:"interface"`
	Type    string    `xml:"type,attr"`
	MAC     hardware  `xml:"mac"`
	Source  source    `xml:"source"`
	Model   *nicModel `xml:"model"`
	MTU     *size     `xml:"mtu"`
	Boot    *boot     `xml:"boot"`
	Link    *state    `xml:"link"`
}

type hardware struct {
	Address string `xml:"address,attr"`
}

type nicModel struct {
	Type string `xml:"type,attr"`
}

type size struct {
	Size int `xml:"size,attr"`
}

type device struct {
	Type string `xml:"type,attr"`
}

type channel struct {
	Type   string `xml:"type,attr"`
	Target target `xml:"target"`
}

type hostDev struct {
	XMLName xml.Name `xml:"hostdev"`
	Mode    string   `xml:"mode,attr"`
	Type    string   `xml:"type,attr"`
	Managed string   `xml:"managed,attr"`
	Source  source   `xml:"source"`
}

type watchdog struct {
	Model  string `xml:"model,attr"`
	Action string `xml:"action,attr"`
}

type tpm struct {
	Model   string     `xml:"model,attr"`
	Backend tpmBackend `xml:"backend"`
}

type tpmBackend struct {
	Type    string `xml:"type,attr"`
	Version string `xml:"version,attr"`
}

type rng struct {
	Model   string  `xml:"model,attr"`
	Backend rngFrom `xml:"backend"`
}

type rngFrom struct {
	Model string `xml:"model,attr"`
	Value string `xml:",chardata"`
}
