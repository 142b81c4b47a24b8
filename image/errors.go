package image

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"syscall"
)

// Fault says whose business an error is.
type Fault int

// The faults.
const (
	// BadReference: the text is no reference to an image, or lacks something that it needs.
	BadReference Fault = iota + 1
	// BadImage: what the reference names is not there, is no guest image, or is not what its checksum promises.
	BadImage
	// Unavailable: the image cannot be had on this host now, for want of network, credentials or disk.
	Unavailable
)

// Error is why there is no image. Its text holds no secret: neither credentials nor the query of a URL.
type Error struct {
	Fault Fault
	// Reference is the reference as Reference.String writes it.
	Reference string
	// What is wrong, and what to do about it; the latter may be empty.
	What, Remedy string
	Err          error
}

// Error returns what is wrong, with whose image, and what to do.
func (e *Error) Error() string {
	text := e.What
	if e.Reference != "" {
		text = e.Reference + ": " + text
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// FaultOf returns the fault of an error; errors of other packages are Unavailable.
func FaultOf(err error) Fault {
	var e *Error
	if errors.As(err, &e) {
		return e.Fault
	}
	return Unavailable
}

func badReference(ref, what, remedy string) error {
	return &Error{Fault: BadReference, Reference: ref, What: what, Remedy: remedy}
}

// badImage makes an error without its reference, which Store adds.
func badImage(what, remedy string) error {
	return &Error{Fault: BadImage, What: what, Remedy: remedy}
}

func unavailable(what string, err error) error {
	return &Error{Fault: Unavailable, What: what, Err: plain(err)}
}

// about names the reference in an error that does not name one.
func about(ref Reference, err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) && e.Reference != "" {
		return err
	}
	if e != nil {
		named := *e
		named.Reference = ref.String()
		return &named
	}
	return &Error{Fault: Unavailable, Reference: ref.String(), What: "cannot be fetched", Err: plain(err)}
}

// plain takes the URL out of errors of net/http: it may carry credentials.
func plain(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// ofHost reports whether an error comes from this host or its network rather than from what was read.
func ofHost(err error) bool {
	var network net.Error
	var path *fs.PathError
	var number syscall.Errno
	return errors.As(err, &network) || errors.As(err, &path) || errors.As(err, &number) || errors.Is(err, errStalled) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
