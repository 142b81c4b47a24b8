// Package supervisortest plays QEMU for tests of supervisors and of those who have them: a program with QEMU's monitor,
// console and report port, and a guest in it that behaves as it is told. The test's own program plays it.
package supervisortest
