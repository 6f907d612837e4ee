// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package setting

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/test/must"
)

// options has a setting of each kind.
type options struct {
	listen, url, authority, output string
	on                             bool
	count                          int
	bytes                          int64
	wait                           time.Duration
	names, ranges                  []string
}

func (o *options) declare(getenv func(string) string) *Set {
	s := New("program", "Do something.\n\n")
	s.String(&o.listen, "listen", ":8080", "address", Address)
	s.String(&o.url, "url", "", "URL of the server", Optional(HTTPS))
	s.Bool(&o.on, "on", true, "whether it is on")
	s.Int(&o.count, "count", 3, "how many", Between(1, 9))
	s.Int64(&o.bytes, "bytes", 1<<40, "how large", AtLeast[int64](1))
	s.Duration(&o.wait, "wait", time.Minute, "how long", Positive)
	s.List(&o.names, "names", "namespaces", Label)
	s.Each(&o.ranges, "range", "address range", Range)
	s.Env(&o.authority, "AUTHORITY", "a certificate", getenv)
	s.OutputFormat(&o.output)
	s.Check(func() error {
		if o.on && o.count == 9 {
			return errors.New("--count: 9 is too many with --on; give less")
		}
		return nil
	})
	return s
}

func has(string) string { return "pem" }

func TestADeclarationGivesTheDefaultAndTheLineOfTheHelp(t *testing.T) {
	var o options
	var help bytes.Buffer
	s := o.declare(has)
	s.SetOutput(&help)
	must.Succeed(t, s.Parse(nil))
	if o.listen != ":8080" || !o.on || o.count != 3 || o.bytes != 1<<40 || o.wait != time.Minute || o.names != nil || o.authority != "pem" || o.output != "text" {
		t.Errorf("the defaults are %+v", o)
	}
	if err := s.Parse([]string{"--help"}); !errors.Is(err, pflag.ErrHelp) {
		t.Error(err)
	}
	for _, part := range []string{"Do something.\n", "--listen string", `(default ":8080")`, "-o, --output string"} {
		if !strings.Contains(help.String(), part) {
			t.Errorf("the help has no %q:\n%s", part, help.String())
		}
	}
}

func TestAnErrorSaysWhatIsWrongAndWhatIsAccepted(t *testing.T) {
	for arg, want := range map[string]string{
		"--listen=8080":               `--listen: "8080" is not an address; give HOST:PORT, or :PORT for all addresses of the machine; the default is :8080`,
		"--url=http://u:hunter2@host": "--url: the value is not an absolute URL with https and a host; give one without a user, a query and a fragment, such as https://host:8443",
		"--on=maybe":                  `--on: "maybe" cannot be read; give true or false; the default is true`,
		"--count=0":                   "--count: 0 is out of range; give 1 to 9; the default is 3",
		"--count=many":                `--count: "many" cannot be read; give a whole number; the default is 3`,
		"--count=9":                   "--count: 9 is too many with --on; give less",
		"--bytes=0":                   "--bytes: 0 is too little; give 1 or more; the default is 1099511627776",
		"--wait=0s":                   "--wait: 0s is too little; give more than 0; the default is 1m0s",
		"--wait=5":                    `--wait: "5" cannot be read; give a time such as 30s, 5m or 1h; the default is 1m0s`,
		"--names=a,B":                 `--names: "B" is not the name of a namespace; give 1 to 63 lower-case letters, digits and dashes, such as hosted-bridge-system`,
		"--range=10.1.2.3/8":          "--range: 10.1.2.3/8 begins elsewhere; begin at the range's first address, as 10.0.0.0/8 does; one address alone is 10.1.2.3/32",
		"--output=yaml":               `--output: "yaml" is not known; give text or json; the default is text`,
		"--nothing":                   "unknown flag: --nothing",
		"more":                        `"more" is not expected; give flags alone, see --help`,
	} {
		var said bytes.Buffer
		s := new(options).declare(has)
		s.SetOutput(&said)
		if err := s.Parse([]string{arg}); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", arg, err, want)
		}
	}
}

func TestEverythingThatIsWrongIsSaidAtOnce(t *testing.T) {
	err := new(options).declare(func(string) string { return "" }).Parse([]string{"--listen=x", "--count=0"})
	for _, want := range []string{"--listen: ", "--count: ", "AUTHORITY: the environment does not have it; set it to a certificate"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
}

func TestACommandInheritsSettingsWithTheirChecks(t *testing.T) {
	var o options
	s := New("command", "")
	s.Inherit(o.declare(has), func(name string) bool { return name == "count" })
	if s.Lookup("listen") != nil {
		t.Error("the command has a setting that it did not want")
	}
	if err := s.Parse([]string{"--count=10"}); err == nil || !strings.HasPrefix(err.Error(), "--count: 10 is out of range") {
		t.Error(err)
	}
	must.Succeed(t, s.Parse([]string{"--count=2"}))
	if o.count != 2 {
		t.Errorf("the count is %d", o.count)
	}
}

func TestWhatIsAVariableOrACertificate(t *testing.T) {
	const certificate = "# of the proxy\n-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	key := strings.ReplaceAll(certificate, "CERTIFICATE", "PRIVATE"+" KEY")
	for _, test := range []struct {
		check Check[string]
		value string
		ok    bool
	}{
		{Variable, "A=canary", true}, {Variable, "npm_config_a:b=canary", true}, {Variable, "canary", false}, {Variable, "=canary", false},
		{Certificates, "", true}, {Certificates, certificate, true}, {Certificates, certificate + key, false}, {Certificates, "/etc/ssl/canary.pem", false},
		{Required, "a", true}, {Required, "", false},
		{Address, ":0", true}, {Address, "[::1]:80", true}, {Address, "::1:80", false},
		{HTTP, "http://127.0.0.1:8080", true}, {HTTP, "https://a/?canary", false}, {HTTP, "a:80", false},
	} {
		if err := test.check(test.value); (err == nil) != test.ok || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v", test.value, err)
		}
	}
}
