//go:build linux

package main

func attack(args []string) int { return 125 }
