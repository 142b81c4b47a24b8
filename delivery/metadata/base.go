package metadata

// CheckBase returns an error that wraps ErrBase for a URL below which guests could not find their trees.
func CheckBase(url string) error {
	_, err := baseURL(url)
	return err
}
