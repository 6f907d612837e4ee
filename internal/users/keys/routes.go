// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"net/http"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/oauth"
)

// maxRequest holds a name and a lifetime many times over.
const maxRequest = 4 << 10

// IDParam is the form of a key's id in a path.
var IDParam = httpapi.Param{Form: `[0-9A-Za-z]{8,32}`}

// UserRoutes are those by which users see and change their own keys. The caller sets what all
// routes of users have in common.
func (k *Keys) UserRoutes() []httpapi.Route {
	const all, one = "/u/:userId/keys", "/u/:userId/keys/:keyId"
	return []httpapi.Route{
		{Method: http.MethodGet, Path: all, Access: httpapi.UserManage, Handle: list(k.Own)},
		{Method: http.MethodPost, Path: all, Access: httpapi.UserManage, Act: true, MaxBody: maxRequest, Handle: create(k.Own)},
		{Method: http.MethodDelete, Path: one, Access: httpapi.UserManage, Handle: revoke(k.Own)},
	}
}

// AdminRoutes are those by which administrators see and change users' keys. The caller sets
// what all routes of administrators have in common.
func (k *Keys) AdminRoutes() []httpapi.Route {
	const all, one = "/admin/users/:userId/keys", "/admin/users/:userId/keys/:keyId"
	ofPath := func(c httpapi.Call) Actor { return k.Of(c, v1alpha1.UserID(c.Param("userId"))) }
	return []httpapi.Route{
		{Method: http.MethodGet, Path: all, Roles: []oauth.Role{oauth.RoleAuditor}, Handle: list(ofPath)},
		{Method: http.MethodPost, Path: all, MaxBody: maxRequest, Handle: create(ofPath)},
		{Method: http.MethodDelete, Path: one, Handle: revoke(ofPath)},
	}
}

// list answers with what may be told of keys.
func list(actor func(httpapi.Call) Actor) func(httpapi.Call) error {
	return func(c httpapi.Call) error {
		found, err := actor(c).List()
		if err != nil {
			return err
		}
		return httpapi.AnswerJSON(c, http.StatusOK, found)
	}
}

// create makes a key and answers with it, once.
func create(actor func(httpapi.Call) Actor) func(httpapi.Call) error {
	return func(c httpapi.Call) error {
		name, lifetime, err := readRequest(c)
		if err != nil {
			return err
		}
		made, err := actor(c).Create(name, lifetime)
		if err != nil {
			return err
		}
		return httpapi.AnswerJSON(c, http.StatusCreated, made)
	}
}

// revoke removes a key that was added as one of its own.
func revoke(actor func(httpapi.Call) Actor) func(httpapi.Call) error {
	return func(c httpapi.Call) error {
		if err := actor(c).Revoke(c.Param("keyId")); err != nil {
			return err
		}
		httpapi.AnswerNothing(c)
		return nil
	}
}

// readRequest reads {"name": "laptop", "expires": "90d"}. No body asks for a key without a name
// that does not expire.
func readRequest(c httpapi.Call) (name string, lifetime time.Duration, err error) {
	var asked struct {
		Name    string `json:"name"`
		Expires string `json:"expires"`
	}
	if err := httpapi.ReadObject(c, &asked, errRequest, errRequestTooLarge); err != nil {
		return "", 0, err
	}
	if err := CheckName(asked.Name); err != nil {
		return "", 0, errRequest.Saying(err.Error())
	}
	if lifetime, err = apikey.ParseLifetime(asked.Expires); err != nil {
		return "", 0, errRequest.Saying("expires: " + err.Error())
	}
	return asked.Name, lifetime, nil
}
