package unattend

import (
	_ "embed"
	"strings"
	"sync"
)

// zoneTable has a line for each time zone of Windows: its name, a colon, the zone of the tz database that stands for it
// everywhere in the world, and the others that keep its time. Source: windowsZones.xml of the Unicode CLDR, with the
// links of the tz database.
//
//go:embed zones.txt
var zoneTable string

type zones struct {
	windows map[string]string // small letters to the name as Windows spells it
	olson   map[string]string // small letters of a zone of the tz database to the name of Windows
	first   map[string]string // the name of Windows to the zone of the tz database
}

var table = sync.OnceValue(func() zones {
	z := zones{windows: map[string]string{}, olson: map[string]string{}, first: map[string]string{}}
	for line := range strings.Lines(zoneTable) {
		name, list, _ := strings.Cut(strings.TrimSpace(line), ": ")
		z.windows[strings.ToLower(name)] = name
		for i, olson := range strings.Fields(list) {
			z.olson[strings.ToLower(olson)] = name
			if i == 0 {
				z.first[name] = olson
			}
		}
	}
	return z
})

// WindowsZone returns the name that Windows has for a time zone. It takes names of the tz database, such as
// Asia/Jerusalem, and those of Windows, in letters of any case.
func WindowsZone(name string) (string, bool) {
	z, key := table(), strings.ToLower(name)
	if windows, ok := z.windows[key]; ok {
		return windows, true
	}
	windows, ok := z.olson[key]
	return windows, ok
}

// OlsonZone returns the zone of the tz database that stands for a time zone of Windows, in letters of any case.
func OlsonZone(windows string) (string, bool) {
	z := table()
	olson, ok := z.first[z.windows[strings.ToLower(windows)]]
	return olson, ok
}
