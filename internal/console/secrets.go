// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"net/http"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// secretsPage lists secrets, without values.
type secretsPage struct {
	frame

	Secrets []selfservice.Secret
	Limit   *int
	// Entered is the name that was entered for a new one. Values are not repeated.
	Entered, NameError, ValueError string
}

// secrets is the page of a person's secrets.
func (s *secretPages) secrets(v *visit) error { return s.showSecrets(v, http.StatusOK, &secretsPage{}) }

func (s *secretPages) showSecrets(v *visit, status int, p *secretsPage) error {
	p.Title, p.Path = "Secrets", pathSecrets
	found, err := s.Secrets.Secrets(v.Request().Context(), v.bridge)
	if err != nil {
		p.Trouble = s.troubleOf(v, "Your secrets", err)
	}
	p.Secrets, p.Limit = found.Secrets, found.Limit
	return s.show(v, "secrets", status, p)
}

// setSecret keeps a secret.
func (s *secretPages) setSecret(v *visit, value []byte) error {
	name, server := v.form.Get("name"), v.form.Get("server")
	value = bytes.TrimRight(value, "\r\n")
	nameError, valueError := "", ""
	if !v1alpha1.ValidSecretName(name) {
		nameError = "Use capital letters, digits and _, beginning with a letter, for example GITHUB_TOKEN. The name of a file has a dot, such as key.json."
	}
	if len(value) == 0 {
		valueError = "Enter the value. It has at least one character."
	}
	if nameError == "" && valueError == "" {
		_, _, err := s.Secrets.SetSecret(v.Request().Context(), v, v.bridge, name, value)
		p, mendable := refused(err)
		switch {
		case err == nil && server != "":
			s.awaitChange(v, server, stateSecret)
			return v.done(pathServers+"/"+serverPath(server), doneSecret)
		case err == nil:
			return v.done(pathSecrets, doneSecret)
		case !mendable:
			return err
		}
		valueError = p.Detail
	}
	if server != "" {
		return s.servers.showServer(v, http.StatusUnprocessableEntity, entered{Secret: name, Error: valueError})
	}
	return s.showSecrets(v, http.StatusUnprocessableEntity, &secretsPage{Entered: name, NameError: nameError, ValueError: valueError})
}

// confirmDelete asks before a secret is deleted.
func (s *secretPages) confirmDelete(v *visit) error {
	name := v.Param("secret")
	found, err := s.Secrets.Secrets(v.Request().Context(), v.bridge)
	if err != nil {
		return err
	}
	f := fieldOf(name, found.Secrets)
	if f.Set == nil {
		return errNotFound
	}
	text := "You cannot undo this."
	if used := f.Set.Servers; len(used) > 0 {
		text = "Servers that need it stop working now: " + listed(used) + ". " + text
	}
	return s.show(v, "confirm", http.StatusOK, &confirmPage{
		frame: frame{Title: "Delete " + name + "?", Path: pathSecrets}, Text: text,
		Action: pathSecrets + "/" + name + "/delete", Label: "Delete secret", Back: pathSecrets,
	})
}

// deleteSecret deletes a secret.
func (s *secretPages) deleteSecret(v *visit) error {
	if err := s.Secrets.DeleteSecret(v.Request().Context(), v, v.bridge, v.Param("secret")); err != nil {
		return err
	}
	return v.done(pathSecrets, "secret-deleted")
}
