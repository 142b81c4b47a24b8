package lint_test

import (
	"fmt"
	"log"

	"github.com/vmseed/vmseed/diag"
	"github.com/vmseed/vmseed/format/cloudconfig/lint"
)

// The findings have the place in the file, and depend on the release that will read it.
func ExampleUserData() {
	guest, err := lint.ParseGuest("debian-12")
	if err != nil {
		log.Fatal(err)
	}
	text := `#cloud-config
write_files:
  - path: /etc/motd
    permissions: 644
ubuntu_pro:
  token: x
`
	for _, finding := range lint.UserData(diag.File("user-data"), []byte(text), guest) {
		fmt.Println(finding.Error())
	}
	// Output:
	// user-data:4:18: warning[VS3115]: write_files[0].permissions: the permissions are the decimal number 644, which means mode 01204; write it in quotes with a leading zero
	// user-data:5:1: warning[VS3106]: ubuntu_pro: debian-12 (cloud-init 22.4) does not know this key, which came with cloud-init 24.1; remove it for this guest
}
