// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"strings"
	"testing"
)

func TestTheIngressesFlagsOfTheStore(t *testing.T) {
	for arg, ok := range map[string]bool{
		"--audit-index=store:https://store:8443": true, "--audit-index=store:": false, "--audit-index=store:http://store": false,
		"--quota-store-url=https://store:8443": true, "--quota-store-url=redis://store": false, "--quota-store-url=https://user@store": false,
	} {
		if _, err := parseOptions([]string{arg}, io.Discard); (err == nil) != ok {
			t.Errorf("%s: %v", arg, err)
		}
	}
	for url, want := range map[string]string{"https://store:8443": "", "http://store": "--answers-url: the value is not an absolute URL with https"} {
		if _, err := parseOptions([]string{"--answers-url=" + url, "--snapshot-key-file=key"}, io.Discard); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("answers at %s: %v", url, err)
		}
	}
	if _, err := parseOptions([]string{"--answers-url=https://store:8443"}, io.Discard); err == nil || !strings.Contains(err.Error(), "--snapshot-key-file, which is empty") {
		t.Errorf("answers without a key: %v", err)
	}
	if _, err := parseOptions([]string{"--quota-store-url=https://store", "--quota-redis-url=redis://redis"}, io.Discard); err == nil || !strings.Contains(err.Error(), "give one of them") {
		t.Errorf("two stores of counts: %v", err)
	}
}
