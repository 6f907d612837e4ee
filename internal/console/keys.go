// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/userkey"
	"github.com/hostedbridge/hostedbridge/internal/web"
)

// keysPage lists keys, without the keys themselves.
type keysPage struct {
	frame

	Keys  []userkey.Info
	Limit int
	// Current is the key by which the person is here.
	Current string
	Now     time.Time
	// Made is the key that was just made. It is on no other page.
	Made *selfservice.CreatedKey
	// Entered are what was entered for a new one.
	Entered, Expires                string
	NameError, ExpiresError, Failed string
}

// keys is the page of a person's keys.
func (k *keyPages) keys(v *visit) error { return k.showKeys(v, http.StatusOK, &keysPage{}) }

func (k *keyPages) showKeys(v *visit, status int, p *keysPage) error {
	p.Title, p.Path, p.Current, p.Now = "Keys", pathKeys, v.session.KeyID, v.Now()
	found, err := k.Keys.Keys(v.Request().Context(), v.bridge)
	if err != nil {
		p.Trouble = k.troubleOf(v, "Your keys", err)
	}
	p.Keys, p.Limit = found.Keys, found.Limit
	return k.show(v, "keys", status, p)
}

// createKey makes a key, and shows it once.
func (k *keyPages) createKey(v *visit) error {
	p := &keysPage{Entered: strings.TrimSpace(v.form.Get("name")), Expires: v.form.Get("expires")}
	if err := userkey.CheckName(p.Entered); err != nil {
		p.NameError = err.Error()
	}
	lifetime, err := userkey.ParseLifetime(p.Expires)
	if err != nil {
		p.ExpiresError = err.Error()
	}
	if p.NameError != "" || p.ExpiresError != "" {
		return k.showKeys(v, http.StatusUnprocessableEntity, p)
	}
	made, err := k.Keys.CreateKey(v.Request().Context(), v, v.bridge, p.Entered, lifetime)
	if problem, mendable := refused(err); mendable {
		p.Failed = problem.Detail
		return k.showKeys(v, problem.Status, p)
	}
	if err != nil {
		return err
	}
	return k.showKeys(v, http.StatusOK, &keysPage{Made: &made})
}

// confirmRevoke asks before a key is revoked.
func (k *keyPages) confirmRevoke(v *visit) error {
	id := v.Param("keyId")
	found, err := k.Keys.Keys(v.Request().Context(), v.bridge)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(found.Keys, func(k userkey.Info) bool { return k.ID == id })
	if at < 0 {
		return errNotFound
	}
	name := found.Keys[at].Name
	if name == "" {
		name = id
	}
	text := "Apps that use it lose access now."
	if id == v.session.KeyID {
		text += " You are logged in with it here, so that your session ends too."
	}
	return k.show(v, "confirm", http.StatusOK, &confirmPage{
		frame: frame{Title: "Revoke " + web.Plain(name) + "?", Path: pathKeys}, Text: text,
		Action: pathKeys + "/" + id + "/revoke", Label: "Revoke key", Back: pathKeys,
	})
}

// revokeKey revokes a key.
func (k *keyPages) revokeKey(v *visit) error {
	if err := k.Keys.RevokeKey(v.Request().Context(), v, v.bridge, v.Param("keyId")); err != nil {
		return err
	}
	return v.done(pathKeys, "revoked")
}
