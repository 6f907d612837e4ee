// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostedbridge/hostedbridge/internal/audit"
	logins "github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/test/wait"
)

// auditorsGroup is the group of auditors that hack/test/login.sh has told the installation
// of.
const auditorsGroup = "hosted-bridge-e2e-auditors"

var tokenOnPage = regexp.MustCompile(`eyJ[A-Za-z0-9_.-]+`)

// administratorsLogIn has somebody be an auditor, and be none any more.
func administratorsLogIn(t *testing.T) {
	name := installed.name("aude")
	address := installed.url + "/oauth/admin"
	none := newVisitor(t).logsIn(t, address, name)
	if none.Status != http.StatusForbidden || !strings.Contains(none.Text, "You are no administrator here") {
		t.Errorf("without a group: status %d: %.300s", none.Status, none.Text)
	}
	refused(t, none)

	sayOf(t, name, map[string]any{"groups": []string{auditorsGroup}})
	began := time.Now()
	shown := newVisitor(t).logsIn(t, address, name)
	checkPage(t, shown)
	token := tokenOnPage.FindString(shown.Text)
	if shown.Status != http.StatusOK || token == "" {
		t.Fatalf("status %d: %.300s", shown.Status, shown.Text)
	}
	auditor := newCurl(token)
	auditor.must(t, http.StatusOK, http.MethodGet, "/admin/publishers", "")
	auditor.must(t, http.StatusOK, http.MethodGet, "/admin/analytics", "")
	if got := auditor.must(t, http.StatusForbidden, http.MethodPost, "/admin/users/"+name+"/keys", "{}"); !strings.Contains(string(got.body), "role_needed") {
		t.Errorf("an auditor makes a key: %s", got.body)
	}
	person := logins.KeyOf(identityIssuer, name).String()
	wait.NoError(t, wait.Limit, "the audit trail names the auditor", func(context.Context) error {
		var page struct{ Entries []audit.Entry }
		auditor.must(t, http.StatusOK, http.MethodGet, "/admin/audit?limit=100&from="+began.UTC().Format("2006-01-02T15:04:05Z"), "").into(t, &page)
		acts := map[string]string{}
		for _, e := range page.Entries {
			if e.Principal.ID == person {
				acts[e.Method] = e.Principal.Role
			}
		}
		delete(acts, "admin/audit.query") // Of the question before.
		want := map[string]string{"login/administer": "", "admin/publishers.list": "auditor", "admin/analytics.query": "auditor"}
		if diff := cmp.Diff(want, acts); diff != "" {
			return fmt.Errorf("acts (-want +got):\n%s", diff)
		}
		return nil
	})

	sayOf(t, name, map[string]any{"groups": []string{}})
	if after := newVisitor(t).logsIn(t, address, name); after.Status != http.StatusForbidden {
		t.Errorf("after the group was left: status %d", after.Status)
	}
}
