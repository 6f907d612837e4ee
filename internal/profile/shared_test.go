// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package profile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/access"
	"github.com/hostedbridge/hostedbridge/internal/effective"
)

// shared returns a SharedServer for the group eng of https://a, as changed.
func shared(change ...func(*v1alpha1.SharedServer)) v1alpha1.SharedServer {
	s := v1alpha1.SharedServer{ObjectMeta: metav1.ObjectMeta{Name: "payments", UID: "u-1"}}
	s.Spec.Server.Transport = v1alpha1.Transport{
		Type: v1alpha1.TransportStreamableHTTP, URL: "https://pay.example.com/mcp",
		Headers: []v1alpha1.Header{{Name: "Authorization", Value: "Bearer ${PAY_TOKEN}"}},
	}
	s.Spec.Secrets = []v1alpha1.SecretName{"PAY_TOKEN"}
	s.Spec.Members = []v1alpha1.IssuerGroup{{Issuer: "https://a", Value: "eng"}}
	s.Spec.Namespaces = []string{"people"}
	for _, c := range change {
		c(&s)
	}
	return s
}

func subjects(names ...string) func(*v1alpha1.HostedBridge) {
	return func(b *v1alpha1.HostedBridge) {
		b.Spec.OAuth = &v1alpha1.OAuthAccess{}
		for _, s := range names {
			b.Spec.OAuth.Subjects = append(b.Spec.OAuth.Subjects, v1alpha1.OAuthSubject{Issuer: "https://a", Subject: s})
		}
	}
}

func TestWhoMayUseASharedServer(t *testing.T) {
	suspended, second := person("susan", "", "eng"), person("alice-again", "")
	suspended.Spec.Access = v1alpha1.AccessSuspended
	second.Spec.Subject, second.Status.Login, second.Spec.Access = "twice", nil, v1alpha1.AccessSuspended
	user := v1alpha1.BridgePerson{Spec: v1alpha1.BridgePersonSpec{User: "blocked", Access: v1alpha1.AccessSuspended}}
	elsewhere := person("eve", "", "eng")
	elsewhere.Spec.Issuer = "https://b"
	people := access.NewPeople([]v1alpha1.BridgePerson{
		person("alice", "", "eng"), person("bob", "", "ops"), person("carol", "", "eng", "ops"), person("twice", "", "eng"), second, suspended, user, elsewhere,
		person("rita", "ruled", "eng"),
	})
	const member, unknown, no = "", v1alpha1.ReasonUnknownShared, v1alpha1.ReasonNotMember
	for name, tt := range map[string]struct {
		server v1alpha1.SharedServer
		bridge func(*v1alpha1.HostedBridge)
		after  time.Duration
		want   string
	}{
		"a member":                              {shared(), subjects("alice"), 0, member},
		"a member by a rule":                    {shared(), func(b *v1alpha1.HostedBridge) { b.Spec.UserID = "ruled" }, 0, member},
		"two members":                           {shared(), subjects("alice", "carol"), 0, member},
		"somebody in another group":             {shared(), subjects("bob"), 0, no},
		"a member and another person":           {shared(), subjects("alice", "bob"), 0, no},
		"somebody of whom nothing is known":     {shared(), subjects("stranger"), 0, no},
		"a member and a stranger":               {shared(), subjects("alice", "stranger"), 0, no},
		"a bridge of nobody":                    {shared(), func(*v1alpha1.HostedBridge) {}, 0, no},
		"a group of the manifest":               {shared(), func(b *v1alpha1.HostedBridge) { b.Spec.Groups = []string{"eng"} }, 0, no},
		"a group of the manifest beside bob's":  {shared(), func(b *v1alpha1.HostedBridge) { subjects("bob")(b); b.Spec.Groups = []string{"eng"} }, 0, no},
		"the group of another issuer":           {shared(), subjects("eve"), 0, no},
		"a member who is suspended":             {shared(), subjects("susan"), 0, no},
		"a member beside one who is suspended":  {shared(), subjects("alice", "susan"), 0, no},
		"a member whom another record suspends": {shared(), subjects("twice"), 0, no},
		"a user who is suspended":               {shared(), func(b *v1alpha1.HostedBridge) { subjects("alice")(b); b.Spec.UserID = "blocked" }, 0, no},
		"a login that lapsed":                   {shared(), subjects("alice"), MaxAge, no},
		"another namespace":                     {shared(func(s *v1alpha1.SharedServer) { s.Spec.Namespaces = []string{"other"} }), subjects("alice"), 0, no},
		"all namespaces":                        {shared(func(s *v1alpha1.SharedServer) { s.Spec.Namespaces = []string{"*"} }), subjects("alice"), 0, member},
		"no member groups":                      {shared(func(s *v1alpha1.SharedServer) { s.Spec.Members = nil }), subjects("alice"), 0, no},
		"a group without an issuer, as a bug":   {shared(func(s *v1alpha1.SharedServer) { s.Spec.Members = []v1alpha1.IssuerGroup{{Value: "eng"}} }), func(b *v1alpha1.HostedBridge) { subjects("bob")(b); b.Spec.Groups = []string{"eng"} }, 0, no},
		"another name":                          {shared(func(s *v1alpha1.SharedServer) { s.Name = "other" }), subjects("alice"), 0, unknown},
		"one that is being deleted":             {shared(func(s *v1alpha1.SharedServer) { s.DeletionTimestamp = new(metav1.Now()) }), subjects("alice"), 0, unknown},
		"one that names a secret it lacks":      {shared(func(s *v1alpha1.SharedServer) { s.Spec.Secrets[0] = "OTHER" }), subjects("alice"), 0, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			b := bridge(nil)
			tt.bridge(b)
			found, reason := SharingOf(b, []v1alpha1.SharedServer{tt.server}, people, heard.Add(tt.after)).Find("payments")
			if reason != tt.want || (found == nil) != (tt.want != member) {
				t.Errorf("found %v, reason %q, want %q", found != nil, reason, tt.want)
			}
		})
	}
}

func TestAProfileGivesASharedServerToMembersAlone(t *testing.T) {
	people := access.NewPeople([]v1alpha1.BridgePerson{person("alice", "", "eng"), person("bob", "", "ops")})
	p := profiled("p", 0, func(s *v1alpha1.BridgeProfileSpec) {
		s.Variables = []v1alpha1.ProfileVariable{{Name: "PAY_TOKEN", Value: "not-this"}}
		s.Servers = []v1alpha1.ProfileServer{{
			Server: v1alpha1.Server{Name: "pay", Tools: &v1alpha1.ToolFilter{Deny: []string{"refund"}}, Trust: v1alpha1.TrustUntrusted},
			Use:    v1alpha1.ServerRequired, Shared: &v1alpha1.SharedReference{Name: "payments"},
		}}
	})
	list := []v1alpha1.SharedServer{shared()}
	give := func(subject string, servers []v1alpha1.SharedServer, own ...string) (*effective.Bridge, v1alpha1.EffectiveServer) {
		b := bridge(nil, own...)
		subjects(subject)(b)
		b.Status.Effective = Effective(b, []Profile{p}, tiers, SharingOf(b, servers, people, heard), nil)
		return effective.Of(b), b.Status.Effective.Servers[0]
	}

	b, given := give("alice", list, "pay")
	want := v1alpha1.Server{
		Name: "pay", Transport: list[0].Spec.Server.Transport, Secrets: []v1alpha1.SecretName{"PAY_TOKEN"},
		Tools: &v1alpha1.ToolFilter{Deny: []string{"refund"}}, Trust: v1alpha1.TrustUntrusted,
	}
	if diff := cmp.Diff([]effective.Server{{Server: want, Shared: "payments"}}, b.Spec.Servers); diff != "" || given.Shared != "payments" {
		t.Errorf("a member has (-want +got):\n%s\n%+v", diff, given)
	}
	if b, given = give("bob", list, "pay"); given.Reason != v1alpha1.ReasonNotMember || given.Shared != "" || given.Source != "" ||
		len(b.Spec.Servers) != 1 || b.Spec.Servers[0].Shared != "" {
		t.Errorf("somebody else has %+v and %+v", given, b.Spec.Servers)
	}
	if b, given = give("alice", nil, "own"); given.Reason != v1alpha1.ReasonUnknownShared || len(b.Spec.Servers) != 1 {
		t.Errorf("without the SharedServer there are %+v and %+v", given, b.Spec.Servers)
	}
}

func TestWhichSharedServersAreRefused(t *testing.T) {
	var many []v1alpha1.SharedServer
	for i := range v1alpha1.MaxSharedServers + 1 {
		many = append(many, shared(func(s *v1alpha1.SharedServer) {
			s.Name, s.CreationTimestamp = fmt.Sprintf("s%03d", i), metav1.NewTime(heard)
		}))
	}
	header := func(value string) func(*v1alpha1.SharedServer) {
		return func(s *v1alpha1.SharedServer) { s.Spec.Server.Transport.Headers[0].Value = value }
	}
	for name, tt := range map[string]struct {
		server v1alpha1.SharedServer
		all    []v1alpha1.SharedServer
		reason string
		says   string
	}{
		"one":                          {shared(), nil, "", ""},
		"the last that fits":           {many[255], many, "", ""},
		"one too many":                 {many[256], many, v1alpha1.ReasonTooManyShared, "takes 256 SharedServers"},
		"a secret that is not listed":  {shared(header("${OTHER}")), nil, v1alpha1.ReasonSecretNotGranted, "spec.server: transport.headers[0].value: header Authorization of server server names the secret OTHER"},
		"a header that cannot be read": {shared(header("${hunter2")), nil, v1alpha1.ReasonInvalidHeader, "spec.server: transport.headers[0].value"},
		"a program, as a bug": {shared(func(s *v1alpha1.SharedServer) {
			s.Spec.Server.Transport = v1alpha1.Transport{Type: v1alpha1.TransportStdio, Stdio: &v1alpha1.Stdio{Image: "x", Command: []string{"x"}}}
		}), nil, v1alpha1.ReasonInvalidServer, "over HTTP"},
	} {
		t.Run(name, func(t *testing.T) {
			f := RefusesShared(&tt.server, tt.all)
			if f.Reason != tt.reason || !strings.Contains(f.Message, tt.says) || strings.Contains(f.Message, "hunter2") {
				t.Errorf("%+v, want %s with %q", f, tt.reason, tt.says)
			}
		})
	}
}
