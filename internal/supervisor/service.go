package supervisor

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/vmseed/vmseed/delivery/metadata"
	"github.com/vmseed/vmseed/internal/atomicfile"
	"github.com/vmseed/vmseed/report"
	"github.com/vmseed/vmseed/report/intake"
	"github.com/vmseed/vmseed/secret"
)

// reportKeySize is the size of a ReportKey in bytes, before it is written in hexadecimal digits.
const reportKeySize = 32

// ReportKey returns the key of a VM by which the URLs are signed at which its guest may report by HTTP, and makes it when
// the VM has none yet. It stays the same over the VM's life, because a guest keeps the URL of its first boot.
func ReportKey(dir string) (secret.Text, error) {
	if key, err := OpenReportKey(dir); !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	raw := make([]byte, reportKeySize)
	_, _ = rand.Read(raw) // which never fails
	key := []byte(hex.EncodeToString(raw))
	return secret.FromBytes(key), atomicfile.WriteBytes(filepath.Join(dir, reportKeyFile), key)
}

// OpenReportKey returns the key that ReportKey has made. The error is fs.ErrNotExist for a VM that has none.
func OpenReportKey(dir string) (secret.Text, error) {
	key, err := os.ReadFile(filepath.Join(dir, reportKeyFile))
	if err == nil && len(key) != 2*reportKeySize {
		err = fs.ErrNotExist
	}
	if err != nil {
		return secret.Text{}, err
	}
	return secret.FromBytes(key), nil
}

// service is what answers the guest's requests by HTTP. Whoever asks is the guest: nobody else is on its networks.
type service struct {
	file    string
	site    *metadata.Site
	handler *metadata.Handler
	// later means that the guest's first boot was over before this run: its seed was sealed then.
	later bool
}

// openService reads what the guest is to be served.
func (s *supervisor) openService() error {
	plan := s.plan.Metadata
	if plan == nil || s.service != nil {
		return nil
	}
	site, err := metadata.Load(plan.File)
	if err != nil {
		return fmt.Errorf("the metadata service: %w", err)
	}
	if err := s.keepPassword(plan.File, &site); err != nil {
		return fmt.Errorf("the metadata service: %w", err)
	}
	reports, err := s.openIntake()
	if err != nil {
		return fmt.Errorf("the guest's reports by HTTP: %w", err)
	}
	config := metadata.Config{Identify: metadata.Only(site), Password: s.postPassword, Log: s.log}
	if reports != nil {
		config.Reports = reports
	}
	s.service = &service{plan.File, site, metadata.NewHandler(config), site.Sealed()}
	if s.state.FirstBoot != nil && s.state.FirstBoot.Stage == report.Done {
		s.seal() // a supervisor that crashed may have left it undone
	}
	return nil
}

// keepPassword gives a new site of the same instance the password that its guest has posted.
func (s *supervisor) keepPassword(file string, site **metadata.Site) error {
	p := s.state.Password
	if p == nil || p.Instance != (*site).Identity().InstanceID || !(*site).Password().IsZero() {
		return nil
	}
	if err := metadata.SavePassword(file, []byte(p.Encrypted)); err != nil {
		return err
	}
	again, err := metadata.Load(file)
	if err == nil {
		*site = again
	}
	return err
}

// postPassword keeps the password that the guest posts.
func (s *supervisor) postPassword(site *metadata.Site, password []byte) error {
	if err := metadata.SavePassword(s.plan.Metadata.File, password); err != nil {
		return err
	}
	text := strings.Map(func(r rune) rune { // it is shown to people, and the guest is not trusted
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, string(password))
	posted := &Password{Instance: site.Identity().InstanceID, Encrypted: text}
	s.update(func(st *State) { st.Password = posted })
	s.journal.add(Event{Note: "the guest has posted the password of its administrator, encrypted with its SSH key", Password: posted})
	return nil
}

// openIntake takes the guest's reports by HTTP, where its seed has been told a URL for them.
func (s *supervisor) openIntake() (*intake.Intake, error) {
	if _, err := os.Stat(filepath.Join(s.dir, reportKeyFile)); s.plan.Metadata.Instance == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	key, err := ReportKey(s.dir)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(s.dir, intakeFile)
	in := intake.New(key, s.hear, intake.Options{
		Sender: func(context.Context) (string, bool) { return s.name(), true },
		Keep:   func(_ string, state []byte) error { return atomicfile.WriteBytes(file, state) },
		Log:    s.log,
	})
	kept, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := in.Open(s.name(), s.plan.Metadata.Instance, kept); err != nil {
		s.log.Warn("what the guest reported by HTTP earlier is forgotten", "error", err)
		return in, in.Open(s.name(), s.plan.Metadata.Instance, nil)
	}
	return in, nil
}

// startService serves the guest on all its networks.
func (s *supervisor) startService() error {
	if s.service == nil {
		return nil
	}
	for _, n := range s.networks() {
		l, err := n.Listen(s.plan.Metadata.Listen)
		if err != nil {
			return fmt.Errorf("the metadata service: %w", err)
		}
		s.serveMetadata(l)
	}
	return nil
}

// serveMetadata serves the guest at a listener until the run ends.
func (s *supervisor) serveMetadata(l net.Listener) {
	s.working.Go(func() {
		if err := metadata.Serve(s.ctx, l, s.service.handler); err != nil && s.ctx.Err() == nil {
			s.log.Error("the metadata service ended", "error", err)
		}
	})
}

// seal withdraws what the guest needs for its first boot alone.
func (s *supervisor) seal() {
	if s.service == nil || !s.plan.Metadata.Seal || s.service.site.Sealed() {
		return
	}
	s.service.site.Seal()
	if err := metadata.SealFile(s.service.file); err != nil {
		s.note("what was for the first boot alone is withdrawn from the guest, but still on the disk: %v", err)
	}
}
