// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package privileges_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/test/must"
	"github.com/hostedbridge/hostedbridge/test/privileges"
)

const (
	system  = "hosted-bridge-system"
	process = "hosted-bridge-operator"
)

// rule is on one group alone, the core one, unless it says another.
func rule(verbs, resources string, names ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: strings.Fields(resources), Verbs: strings.Fields(verbs), ResourceNames: names}
}

// granted is a ClusterRole and a Role of the process, and what everybody may.
func granted(everywhere, at []rbacv1.PolicyRule) privileges.Grants {
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: system, Name: process}}
	here := metav1.ObjectMeta{Namespace: system, Name: "r"}
	return privileges.Grants{
		ClusterRoles: []rbacv1.ClusterRole{
			{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Rules: everywhere},
			{ObjectMeta: metav1.ObjectMeta{Name: "system:discovery"}, Rules: []rbacv1.PolicyRule{{Verbs: []string{"get"}, NonResourceURLs: []string{"/apis/*"}}}},
		},
		Roles: []rbacv1.Role{{ObjectMeta: here, Rules: at}},
		ClusterRoleBindings: []rbacv1.ClusterRoleBinding{
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "c"}, Subjects: subjects},
			{RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "system:discovery"}, Subjects: []rbacv1.Subject{{Kind: "Group", Name: "system:authenticated"}}},
		},
		RoleBindings: []rbacv1.RoleBinding{{ObjectMeta: here, RoleRef: rbacv1.RoleRef{Kind: "Role", Name: "r"}, Subjects: subjects}},
	}
}

// line is what the audit log says of a request: "verb resource namespace/name
// code", by the process or by whoever is named before it with an @. A 403 that
// begins with ! is RBAC's, another one admission's.
func line(request string) string {
	user := "system:serviceaccount:" + system + ":" + process
	if who, rest, ok := strings.Cut(request, "@ "); ok {
		user, request = who, rest
	}
	f := strings.Fields(request)
	decision := "allow"
	if code, ok := strings.CutPrefix(f[3], "!"); ok {
		decision, f[3] = "forbid", code
	}
	subject := `"requestURI":"` + f[1] + `"`
	if !strings.HasPrefix(f[1], "/") {
		resource, subresource, _ := strings.Cut(f[1], "/")
		namespace, name, _ := strings.Cut(f[2], "/")
		subject = `"objectRef":{"resource":"` + resource + `","subresource":"` + subresource + `","namespace":"` + namespace + `","name":"` + name + `"}`
	}
	return `{"verb":"` + f[0] + `",` + subject + `,"user":{"username":"` + user + `"},"responseStatus":{"code":` + f[3] + `},` +
		`"annotations":{"authorization.k8s.io/decision":"` + decision + `"}}` + "\n"
}

type found struct{ Account, Kind, What, Where string }

func TestWhatIsGrantedIsComparedWithWhatIsUsed(t *testing.T) {
	type rules = []rbacv1.PolicyRule
	const (
		cluster = "ClusterRole c"
		role    = "Role " + system + "/r"
	)
	for name, tt := range map[string]struct {
		everywhere, at rules
		log            []string
		want           []found
	}{
		"what is granted and used is right": {
			everywhere: rules{rule("get list", "pods")},
			log:        []string{"get pods a/x 200", "get pods b/y 404", "list pods / 200"},
		},
		"a verb that nobody used": {
			everywhere: rules{rule("get list", "pods")},
			log:        []string{"get pods a/x 200", "get pods a/y 200"},
			want:       []found{{process, "granted, never used", "list pods", cluster}},
		},
		"a resource of a rule that nobody used": {
			everywhere: rules{rule("get", "pods pods/log")},
			log:        []string{"get pods a/x 200", "get pods a/y 200"},
			want:       []found{{process, "granted, never used", "get pods/log", cluster}},
		},
		"a name of a rule that nobody used": {
			at:   rules{rule("get", "configmaps", "one", "two")},
			log:  []string{"get configmaps " + system + "/one 200"},
			want: []found{{process, "granted, never used", "get configmaps two", role}},
		},
		"an apply that makes the object uses create": {
			at:  rules{rule("create patch", "configmaps", "one")},
			log: []string{"patch configmaps " + system + "/one 201"},
		},
		"an apply that changes the object does not": {
			at:   rules{rule("create patch", "configmaps", "one")},
			log:  []string{"patch configmaps " + system + "/one 200"},
			want: []found{{process, "granted, never used", "create configmaps one", role}},
		},
		"a create is decided without a name": {
			at:   rules{rule("create", "configmaps", "one")},
			log:  []string{"create configmaps " + system + "/one !403"},
			want: []found{{process, "asked, not granted", "create configmaps", "once"}, {process, "granted, never used", "create configmaps one", role}},
		},
		"a request that is refused": {
			log:  []string{"list secrets / !403", "list secrets / !403"},
			want: []found{{process, "asked, not granted", "list secrets", "2 times"}},
		},
		"an apply that may change and not make": {
			at:   rules{rule("patch", "configmaps", "one")},
			log:  []string{"patch configmaps " + system + "/one 403"},
			want: []found{{process, "asked, not granted", "create configmaps one", "once"}},
		},
		"an apply that admission refuses, as in a namespace that ends": {
			everywhere: rules{rule("create patch", "configmaps")},
			log:        []string{"patch configmaps a/x 201", "patch configmaps a/y 201", "patch configmaps a/x 403"},
		},
		"what is allowed by no role": {
			log:  []string{"get nodes /n 200"},
			want: []found{{process, "used, granted by nothing that is known", "get nodes n", "once"}},
		},
		"what everybody may is left out": {
			log: []string{"get /apis/apps/v1?timeout=1s - 200"},
		},
		"a right on all namespaces that is used in the installation's": {
			everywhere: rules{rule("get", "pods")},
			log:        []string{"get pods " + system + "/x 200", "get pods " + system + "/y 200"},
			want:       []found{{process, "granted everywhere, used in one namespace", "get pods", cluster}},
		},
		"a right on all namespaces that is used in all at once": {
			everywhere: rules{rule("list", "pods")},
			log:        []string{"list pods / 200"},
		},
		"a right on all names that is used on one": {
			at:   rules{rule("get list", "configmaps")},
			log:  []string{"get configmaps " + system + "/one 200", "list configmaps " + system + "/ 200"},
			want: []found{{process, "granted on every name, used on one", "get configmaps", role + ": one"}},
		},
		"the narrower of two rights is the one that is used": {
			everywhere: rules{rule("get", "configmaps")},
			at:         rules{rule("get", "configmaps", "one")},
			log:        []string{"get configmaps " + system + "/one 200"},
			want:       []found{{process, "granted, never used", "get configmaps", cluster}},
		},
		"a right on everything": {
			at:  rules{rule("*", "pods"), rule("get", "*")},
			log: []string{"list pods " + system + "/ 200", "get secrets " + system + "/a 200", "get nodes " + system + "/b 200"},
			want: []found{
				{process, "granted on what there may be one day", "* pods", role}, {process, "granted on what there may be one day", "get *", role},
			},
		},
		"a tenant that asks anything at all": {
			log:  []string{"system:serviceaccount:tenants:alice@ get /apis/x - 200"},
			want: []found{{"tenants/alice", "asked by an account that is not the installation's", "get /apis/x", "once"}},
		},
		"an account of the installation's namespace is one of its processes": {
			log:  []string{"system:serviceaccount:" + system + ":default@ get pods " + system + "/x !403"},
			want: []found{{"default", "asked, not granted", "get pods x", "once"}},
		},
		"another installation's processes are nobody's tenants": {
			log: []string{"system:serviceaccount:other:" + process + "@ get pods other/x 200"},
		},
		"somebody without an account": {
			log:  []string{"system:anonymous@ get pods a/x !403", "@ get /version - 401"},
			want: []found{{"", "asked by nobody who is known", "get /version: status 401", "once"}, {"", "asked by nobody who is known", "get pods x: status 403", "once"}},
		},
		"an administrator may do what they like": {
			log: []string{"admin@ delete pods a/x 200", "admin@ create namespaces /a 201"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := privileges.Comparison{Grants: granted(tt.everywhere, tt.at), Namespace: system, Accounts: []string{process}}
			for _, request := range tt.log {
				must.Succeed(t, c.Log.Read(strings.NewReader(line(request))))
			}
			c.Compare()
			var got []found
			for _, f := range c.Findings {
				account := f.Account.Name
				if f.Account.Namespace != system && account != "" {
					account = f.Account.String()
				}
				got = append(got, found{account, string(f.Kind), f.What, f.Where})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnExceptionIsForOneFindingOfOneProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		exception privileges.Exception
		left      int
	}{
		"that one":        {privileges.Exception{Account: process, Kind: privileges.Unused, What: "get pods"}, 0},
		"another kind":    {privileges.Exception{Account: process, Kind: privileges.Refused, What: "get pods"}, 1},
		"another right":   {privileges.Exception{Account: process, Kind: privileges.Unused, What: "get pods x"}, 1},
		"another process": {privileges.Exception{Account: "hosted-bridge-ingress", Kind: privileges.Unused, What: "get pods"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			c := privileges.Comparison{Grants: granted([]rbacv1.PolicyRule{rule("get", "pods")}, nil), Namespace: system, Accounts: []string{process}}
			c.Compare(tt.exception)
			if len(c.Findings) != tt.left {
				t.Errorf("findings are %v, want %d", c.Findings, tt.left)
			}
		})
	}
}

func TestALogThatIsBeingWrittenIsReadToItsLastWholeLine(t *testing.T) {
	whole := line("get pods a/x 200")
	var l privileges.Log
	must.Succeed(t, l.Read(strings.NewReader(whole+whole+whole[:20])))
	for r, times := range l.Requests {
		if times != 2 || r.Act.Verb != "get" {
			t.Errorf("%v was made %d times, want 2", r, times)
		}
	}
	if err := l.Read(strings.NewReader("no event\n")); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a line that is no event: %v, want that it says which", err)
	}
}

func TestALogKnowsWhichNamespacesItSawBegin(t *testing.T) {
	var l privileges.Log
	for _, request := range []string{"admin@ patch namespaces a/a 201", "admin@ patch namespaces b/b 200", "admin@ create pods c/c 201"} {
		must.Succeed(t, l.Read(strings.NewReader(line(request))))
	}
	if diff := cmp.Diff(map[string]bool{"a": true}, l.Created); diff != "" {
		t.Errorf("created (-want +got):\n%s", diff)
	}
}

func TestARequestThatWasGivenUpWhileTheServerStoodStillIsNoStrangers(t *testing.T) {
	at := func(second int, user, code string) string {
		moment := time.Date(2026, 11, 22, 11, 0, second, 0, time.UTC).Format(time.RFC3339)
		return strings.Replace(line(user+"@ get leases a/x "+code), "{", `{"requestReceivedTimestamp":"`+moment+`","stageTimestamp":"`+moment+`",`, 1)
	}
	for name, tt := range map[string]struct {
		log  string
		want int
	}{
		"after the server stood still":                  {at(0, "admin", "200") + at(30, "", "401"), 0},
		"among others that it found":                    {at(0, "admin", "200") + at(30, "admin", "200") + at(31, "", "401"), 0},
		"long after it":                                 {at(0, "admin", "200") + at(30, "admin", "200") + at(32, "", "401"), 1},
		"without that":                                  {at(0, "admin", "200") + at(10, "", "401"), 1},
		"as the first of all":                           {at(0, "", "401"), 1},
		"with another answer":                           {at(0, "admin", "200") + at(30, "", "200"), 1},
		"by somebody who shows no credential":           {at(0, "admin", "200") + at(30, "system:anonymous", "401"), 1},
		"again by the same, when the server is back up": {at(0, "admin", "200") + at(30, "", "401") + at(40, "", "401"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			var l privileges.Log
			must.Succeed(t, l.Read(strings.NewReader(tt.log)))
			if len(l.Strangers) != tt.want {
				t.Errorf("strangers: %v, want %d", l.Strangers, tt.want)
			}
		})
	}
}
