// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package userconsole

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostedbridge/hostedbridge/internal/setting"
	"github.com/hostedbridge/hostedbridge/test/must"
)

func TestWhatAConsoleMayBeCalled(t *testing.T) {
	for name, tt := range map[string]struct {
		args  []string
		wrong string
	}{
		"as shipped":      {nil, ""},
		"named":           {[]string{"--console-name=Example bridges", "--console-contact=help@example.com"}, ""},
		"a long name":     {[]string{"--console-name=" + strings.Repeat("a", maxName+1)}, "--console-name"},
		"a line end":      {[]string{"--console-contact=a\x00b"}, "--console-contact"},
		"a bidi override": {[]string{"--console-name=a\u202eb"}, "--console-name"},
	} {
		s := setting.New("ingress", "")
		new(Options).Declare(s)
		err := s.Parse(tt.args)
		if (err == nil) != (tt.wrong == "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALogoIsAPicture(t *testing.T) {
	for name, tt := range map[string]struct {
		content, path string
		ok            bool
	}{
		"PNG":       {"\x89PNG\r\n\x1a\nrest", ".png", true},
		"SVG":       {"<svg xmlns='http://www.w3.org/2000/svg'/>", ".svg", true},
		"HTML":      {"<html>", "", false},
		"too large": {"<svg>" + strings.Repeat(" ", 64<<10), "", false},
	} {
		file := filepath.Join(t.TempDir(), "logo")
		must.Succeed(t, os.WriteFile(file, []byte(tt.content), 0o600))
		o := Options{Enabled: true, Contact: "ann", LogoFile: file}
		contact, logo, err := o.Look()
		if (err == nil) != tt.ok || !strings.HasSuffix(logo, tt.path) || contact != "ann" {
			t.Errorf("%s: %q %q %v", name, contact, logo, err)
		}
	}
	o := Options{Enabled: true, LogoFile: filepath.Join(t.TempDir(), "none")}
	if _, _, err := o.Look(); err == nil || !strings.Contains(err.Error(), "--console-logo-file") {
		t.Errorf("a file that there is not: %v", err)
	}
}
