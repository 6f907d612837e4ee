// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/overview"
)

// command is what an administrator runs in a terminal: what a manifest decides, the ingress
// has no right to write.
type command struct{ Title, Note, Text string }

// commandsFor returns the commands by which a person's bridge is changed, as
// docs/operations/people.md has them. What the administrator has to fill in is in capitals.
// installation is the namespace of the installation.
func commandsFor(d *overview.Detail, installation string) []command {
	bridge := "hb " + shell(d.Name) + " -n " + shell(d.Namespace)
	patch := "kubectl patch " + bridge + " --type=merge -p "
	moved := "hb " + shell(d.Name) + ` -n "$TO"`
	user, _ := json.Marshal(d.User.User) // A string.
	return []command{
		{"Change the tier", "The tier of the HostedBridge counts before that of a profile.", patch + `'{"spec":{"tier":"TIER"}}'`},
		{"Change the groups", "This replaces all groups of the HostedBridge. Groups of a provider or a directory are changed there.", patch + `'{"spec":{"groups":["GROUP"]}}'`},
		{
			"Change who has a profile", "Change spec.who of the profile's manifest. The first command lists whom that would touch.",
			diffCommand("PROFILE.yaml", installation) + "\nkubectl apply -f PROFILE.yaml",
		},
		{
			"Move to another namespace", "URL and keys stay. The delete destroys the stored secrets, which the person sets again.",
			strings.Join([]string{
				"TO=NAMESPACE",
				"sed " + shell("s/namespace: "+d.Namespace+"/namespace: ") + `"$TO"/ MANIFEST.yaml | kubectl apply -f -`,
				"KEYS=$(kubectl get " + bridge + " -o jsonpath='{.spec.apiKeys}')",
				"kubectl patch " + moved + " --type=merge -p " + shell(`{"spec":{"userID":`+string(user)+`,"apiKeys":`) + `"${KEYS:-[]}"'}}'`,
				"kubectl delete " + bridge,
				"kubectl wait --for=condition=Ready " + moved + " --timeout=90s",
			}, "\n"),
		},
	}
}

// diffCommand lists whom the profile of a file would touch.
func diffCommand(file, installation string) string {
	return "kubectl apply --dry-run=server -o yaml -f " + file + " | operator profiles diff --namespace " + shell(installation)
}

// eventsCommand shows what the operator reported of a bridge. The ingress may not read events.
func eventsCommand(d *overview.Detail) string {
	return "kubectl events --for " + shell("hostedbridge/"+d.Name) + " -n " + shell(d.Namespace)
}

// bareword is what a shell takes as it is.
var bareword = regexp.MustCompile(`^[A-Za-z0-9_./:=@%+-]+$`)

// shell returns a word as a POSIX shell takes it.
func shell(word string) string {
	if bareword.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
