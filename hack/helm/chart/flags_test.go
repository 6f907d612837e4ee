// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// programs are the commands of the pods, by the template that starts them.
var programs = map[string]string{"operator": "operator", "keybroker": "keybroker", "ingress": "ingress", "store": "ingress store", "backup": "keybroker backup"}

// differences are the flags for which the chart's default is not the program's, and why.
var differences = map[string]string{
	"ingress --audit-index":  "the chart has a store, which keeps the index of all replicas",
	"ingress --catalog-seed": "the chart seeds the catalog from its image",
	"ingress --replicas":     "the chart installs two",

	"operator --bridge-priority-class": "the chart makes the class of tenants' pods",
}

// flagsOf returns the default of each flag, by the command and the flag, as docs/reference/flags.md has
// it, which is made from the programs.
func flagsOf(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(root + "/docs/reference/flags.md")
	if err != nil {
		t.Fatal(err)
	}
	heading, row := regexp.MustCompile("^##+ `(.*)`$"), regexp.MustCompile("^\\| `(--[a-z-]+)`[^|]*\\| (?:`(.*)`)? *\\|")
	shared, flag := regexp.MustCompile("^It has these flags of `(.*?)`:"), regexp.MustCompile("`(--[a-z-]+)`")
	known, command := map[string]string{}, ""
	for line := range strings.SplitSeq(string(page), "\n") {
		if found := heading.FindStringSubmatch(line); found != nil {
			command = found[1]
		}
		if found := row.FindStringSubmatch(line); found != nil {
			known[command+" "+found[1]] = found[2]
		}
		if of := shared.FindStringSubmatch(line); of != nil {
			for _, found := range flag.FindAllStringSubmatch(line, -1) {
				known[command+" "+found[1]] = known[of[1]+" "+found[1]]
			}
		}
	}
	return known
}

// passed returns the value of each flag that a template passes, by the command and the flag.
func passed(t *testing.T, values string) map[string]string {
	t.Helper()
	rendered := render(t, values+"\nwatchNamespaces: [tenants]\n")
	flag := regexp.MustCompile(`(?m)^\s*- "?(--[a-z-]+)(?:=(.*?))?"?$`)
	all := map[string]string{}
	for template, command := range programs {
		for _, found := range flag.FindAllStringSubmatch(rendered[template+".yaml"], -1) {
			all[command+" "+found[1]] = found[2]
		}
	}
	return all
}

func TestEveryFlagIsOneThatTheProcessHas(t *testing.T) {
	known := flagsOf(t)
	for _, file := range []string{"defaults", "external", "small", "login-file"} {
		values, err := os.ReadFile("testdata/" + file + ".values.yaml")
		if err != nil {
			t.Fatal(err)
		}
		flags := passed(t, string(values))
		if len(flags) < 30 {
			t.Errorf("%s: the chart passes %d flags", file, len(flags))
		}
		for flag := range flags {
			if _, ok := known[flag]; !ok {
				t.Errorf("%s: the chart passes %s, which the program does not have", file, flag)
			}
		}
	}
}

// ofTheInstallation matches what the chart passes for its own mounts, Services and variables, which is
// no default of a value.
var ofTheInstallation = regexp.MustCompile(`^$|^/|\$\(|^(store:|https://)(https://)?hosted-bridge-`)

func TestADefaultOfTheChartIsTheProgramsDefault(t *testing.T) {
	known := flagsOf(t)
	flags := passed(t, "masterKey: {provider: transit, vault: {address: 'https://vault.example', role: keybroker}}")
	given := regexp.MustCompile("--(vault-address|vault-role|key-provider|watch-namespaces)$")
	for flag, value := range flags {
		want, differs := known[flag], differences[flag] != ""
		same := normal(value) == normal(want)
		switch {
		case given.MatchString(flag), ofTheInstallation.MatchString(value) && !differs:
		case same && differs:
			t.Errorf("%s is %q in both: remove it from the differences", flag, value)
		case !same && !differs:
			t.Errorf("the chart's default of %s is %q, and the program's %q: make them the same, or give the reason in differences", flag, value, want)
		}
	}
	for flag := range differences {
		if _, ok := flags[flag]; !ok {
			t.Errorf("the chart does not pass %s: remove it from the differences", flag)
		}
	}
}

// normal returns a value in one form: times as Go prints them, and maps without their brackets.
func normal(value string) string {
	if d, err := time.ParseDuration(value); err == nil {
		return d.String()
	}
	return strings.Trim(value, "[]")
}
