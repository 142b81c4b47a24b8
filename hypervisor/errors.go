package hypervisor

// EnvironmentError is trouble with the host rather than with the input: a program that is not installed, a right that
// is missing. The command exits with status 3.
type EnvironmentError struct {
	// What is missing or wrong.
	What string
	// Remedy says what to do, such as which package to install.
	Remedy string
	// Err is the cause, if one is known.
	Err error
}

// Error returns what is wrong and what to do.
func (e *EnvironmentError) Error() string {
	text := e.What
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Unwrap returns the cause.
func (e *EnvironmentError) Unwrap() error { return e.Err }
