// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/apikey"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/pages"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

// keysPage lists keys, without the keys themselves.
type keysPage struct {
	frame

	Keys  []keys.Info
	Limit int
	// Current is the key by which the person is here.
	Current string
	Now     time.Time
	// Made is the key that was just made. It is on no other page.
	Made *keys.Created
	// Entered are what was entered for a new one.
	Entered, Expires                string
	NameError, ExpiresError, Failed string
}

// keys is the page of a person's keys.
func (k *keyPages) keys(v *visit) error {
	return k.showKeys(v, http.StatusOK, &keysPage{Made: justMade(v)})
}

// justMade returns the key that the form before this page made, nil for none. The browser
// forgets it with the answer.
func justMade(v *visit) *keys.Created {
	sealed := v.cookies.Once(v.Writer(), v.Request())
	if sealed == "" {
		return nil
	}
	text, err := v.session.Unseal(sealed)
	var made keys.Created
	if err != nil || json.Unmarshal(text, &made) != nil {
		return nil // It is of a session that has ended.
	}
	if v.Now().Sub(made.CreatedAt) > session.OnceFor {
		return nil // No browser of ours sends it any more.
	}
	return &made
}

func (k *keyPages) showKeys(v *visit, status int, p *keysPage) error {
	p.Title, p.Path, p.Current, p.Now = "Keys", pathKeys, v.session.KeyID, v.Now()
	found, err := k.Keys.Own(v).List()
	if err != nil {
		p.Trouble = k.troubleOf(v, "Your keys", err)
	}
	p.Keys, p.Limit = found.Keys, found.Limit
	return k.show(v, "keys", status, p)
}

// createKey makes a key, and shows it once.
func (k *keyPages) createKey(v *visit) error {
	p := &keysPage{Entered: strings.TrimSpace(v.form.Get("name")), Expires: v.form.Get("expires")}
	if err := keys.CheckName(p.Entered); err != nil {
		p.NameError = err.Error()
	}
	lifetime, err := apikey.ParseLifetime(p.Expires)
	if err != nil {
		p.ExpiresError = err.Error()
	}
	if p.NameError != "" || p.ExpiresError != "" {
		return k.showKeys(v, http.StatusUnprocessableEntity, p)
	}
	made, err := k.Keys.Own(v).Create(p.Entered, lifetime)
	if problem, mendable := refused(err); mendable {
		p.Failed = problem.Detail
		return k.showKeys(v, problem.Status, p)
	}
	if err != nil {
		return err
	}
	return showNext(v, made)
}

// showNext sends the browser to the page that shows the key, so that loading that page again
// makes no other key.
func showNext(v *visit, made keys.Created) error {
	sealed, err := v.session.Seal(jsondoc.EncodeExact(made))
	if err != nil {
		return err
	}
	v.cookies.SetOnce(v.Writer(), pathKeys, sealed)
	return v.done(pathKeys, "made")
}

// confirmRevoke asks before a key is revoked.
func (k *keyPages) confirmRevoke(v *visit) error {
	id := v.Param("keyId")
	found, err := k.Keys.Own(v).List()
	if err != nil {
		return err
	}
	key, ok := found.Find(id)
	if !ok {
		return errNotFound
	}
	text := RevokeText(key, v.Now())
	if id == v.session.KeyID {
		text += " You are logged in with it here, so that your session ends too."
	}
	return k.show(v, "confirm", http.StatusOK, &confirmPage{
		frame: frame{Title: "Revoke " + pages.Plain(cmp.Or(key.Name, key.ID)) + "?", Path: pathKeys}, Text: text,
		Action: pathKeys + "/" + id + "/revoke", Label: "Revoke key", Back: pathKeys,
	})
}

// RevokeText says which key is to be revoked and what follows: several keys may have one name.
func RevokeText(k keys.Info, now time.Time) string {
	text := "The key " + k.ID + " has no name. "
	if k.Name != "" {
		text = "The key " + pages.Plain(k.Name) + " has the id " + k.ID + ". "
	}
	if k.CreatedAt != nil {
		text += "It was made on " + when(k.CreatedAt) + ". "
	}
	if k.LastUsed != nil {
		text += "It was last used " + ago(now, *k.LastUsed) + ". "
	} else {
		text += "It was not used yet. "
	}
	return text + "Apps that use it lose access now."
}

// revokeKey revokes a key.
func (k *keyPages) revokeKey(v *visit) error {
	if err := k.Keys.Own(v).Revoke(v.Param("keyId")); err != nil {
		return err
	}
	return v.done(pathKeys, "revoked")
}
