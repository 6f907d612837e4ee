// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package management serves what is known and kept of users beside their calls:
// health, secrets, audit entries and figures, and the routes of users/keys. A file has one
// resource, whoever may ask for it.
package management

import (
	"context"
	"net/http"
	"regexp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/catalog/usage"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

// Reports are the bridges' last health reports.
type Reports interface {
	Report(bridge types.UID) (health.Report, bool)
}

// Routes is what is known of users and bridges.
type Routes interface {
	// Current returns the newest snapshot, nil before the first one.
	Current() *route.Table
}

// AdminOptions are what the administrators' routes stand on. None may be nil.
type AdminOptions struct {
	Routes Routes
	// Keys are those that administrators make and revoke.
	Keys *keys.Keys
	// Access is what administrators take away from users.
	Access UserAccess
	// Wake starts bridges that sleep.
	Wake Wake
	// Users are those whom administrators look at.
	Users Users
	// AuditIndex is what administrators ask for entries; NoAuditIndex in an
	// installation without one.
	AuditIndex AuditIndex
	// Inventory returns what the installation has, or an error while that is not
	// known.
	Inventory func(context.Context) (usage.Inventory, error)
}

// maxPath is longer than the longest path there is, "/u/" + 63 +
// "/secrets/" + 80.
const maxPath = 160

// params are the forms of the parts of paths.
var params = map[string]httpapi.Param{
	"userId": {Form: v1alpha1.UserIDPattern},
	// More than the names of secrets, so that the answer to another name says what
	// a name is.
	"name":   {Form: `[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)*`, MaxLength: 80},
	"keyId":  keys.IDParam,
	"server": {Form: v1alpha1.ServerNamePattern},
}

// LastReport returns what is known of a bridge that reports nothing now.
type LastReport func(context.Context, route.Backend) health.Report

type healthAPI struct {
	reports Reports
	last    LastReport
}

// Health returns the feature that tells users how their bridge and its servers are.
func Health(reports Reports, last LastReport) httpapi.Feature {
	h := &healthAPI{reports, last}
	return httpapi.Feature{Name: "health", Params: params, MaxPath: maxPath, Routes: []httpapi.Route{
		{Method: http.MethodGet, Path: "/u/:userId/health", Access: httpapi.User, AnyQuery: true, NoHead: true, MaxAnswer: listAnswer, Handle: h.get},
	}}
}

type secretsAPI struct{ keeper UserSecrets }

// Secrets returns the feature by which users set and remove their secrets.
func Secrets(secrets UserSecrets) httpapi.Feature {
	s := &secretsAPI{secrets}
	const all, one = "/u/:userId/secrets", "/u/:userId/secrets/:name"
	f := httpapi.Feature{Name: "secrets", Params: params, MaxPath: maxPath, Routes: []httpapi.Route{
		{Method: http.MethodGet, Path: all, Handle: s.listSecrets},
		{Method: http.MethodGet, Path: one, Handle: s.getSecret},
		{Method: http.MethodPut, Path: one, Act: true, MaxBody: MaxSecret, Handle: s.putSecret},
		{Method: http.MethodDelete, Path: one, Handle: s.deleteSecret},
	}}
	for i := range f.Routes {
		f.Routes[i].Access, f.Routes[i].AnyQuery, f.Routes[i].NoHead = httpapi.UserManage, true, true
	}
	return f
}

// Administration is what administrators see and do. The routes below /admin and the
// console's pages call it alike, and the audit trail has each of its acts.
type Administration struct {
	o        AdminOptions
	counting chan struct{} // Full while calls are counted.
}

// NewAdministration returns what administrators see and do.
func NewAdministration(o AdminOptions) *Administration {
	return &Administration{o, make(chan struct{}, 1)}
}

// query is the form of the query for audit entries and figures. Which parameters
// there are, and what they may say, is for its handler; here nothing passes
// that two readers could split differently.
var query = regexp.MustCompile(`^[A-Za-z]+=([A-Za-z0-9_.:~+-]|%[0-9A-Fa-f]{2})*(&[A-Za-z]+=([A-Za-z0-9_.:~+-]|%[0-9A-Fa-f]{2})*)*$`)

// maxQuery holds every parameter once at its longest, names in percent
// encoding included.
const maxQuery = 2048

// Admin returns the feature by which administrators manage keys and read the audit
// trail and its figures.
func Admin(o AdminOptions) httpapi.Feature { return NewAdministration(o).Feature() }

// Feature returns the routes of administrators.
func (a *Administration) Feature() httpapi.Feature {
	readers := []oauth.Role{oauth.RoleAuditor}
	f := httpapi.Feature{Name: "admin", Params: params, MaxPath: maxPath, MaxQuery: maxQuery, Routes: []httpapi.Route{
		{Method: http.MethodGet, Path: "/admin/audit", Query: query, Roles: readers, Handle: a.queryAudit},
		{Method: http.MethodGet, Path: "/admin/analytics", Query: query, Roles: readers, Handle: a.queryAnalytics},
		{Method: http.MethodGet, Path: "/admin/problems", Roles: readers, Handle: a.listProblems},
		{Method: http.MethodGet, Path: "/admin/users", Query: query, Roles: readers, Handle: a.listUsers},
		{Method: http.MethodGet, Path: "/admin/users/:userId", Roles: readers, Handle: a.getUser},
		{Method: http.MethodGet, Path: "/admin/users/:userId/access", Roles: readers, Handle: a.getAccess},
		{Method: http.MethodPut, Path: "/admin/users/:userId/access", MaxBody: maxAccessRequest, Handle: a.putAccess},
		{Method: http.MethodPost, Path: "/admin/users/:userId/wake", Handle: a.wakeUser},
	}}
	f.Routes = append(f.Routes, a.o.Keys.AdminRoutes()...)
	for i := range f.Routes {
		f.Routes[i].Access, f.Routes[i].AnyQuery, f.Routes[i].NoHead = httpapi.Admin, true, true
		f.Routes[i].MaxAnswer = listAnswer
	}
	return f
}
