//go:build !unix

package store_test

func setUmask(int) {}
