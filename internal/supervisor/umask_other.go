//go:build !unix

package supervisor

// private does nothing: the directories of users are private here.
func private() {}
