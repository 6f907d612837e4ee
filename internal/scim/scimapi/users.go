// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scimapi

import (
	"encoding/json"
	"net/http"

	"github.com/hostedbridge/hostedbridge/internal/scim"
)

func listUsers(x *exchange) error {
	f, err := scim.UserFilter(x.query.Filter)
	if err != nil {
		return err
	}
	found, err := x.store.Users(x.call.Request().Context(), x.directory, f)
	if err != nil {
		return busy(err)
	}
	return x.answer(http.StatusOK, x.writer.Users(found, x.query))
}

func searchUsers(x *exchange) error { return x.search(listUsers) }

func getUser(x *exchange) error {
	u, err := x.store.User(x.call.Request().Context(), x.directory, x.call.Param("id"))
	if err != nil {
		return busy(err)
	}
	return x.answerRead(u.Version, func() json.RawMessage { return x.writer.User(u, x.query.Selection) })
}

func createUser(x *exchange) error {
	body, err := x.call.Body()
	if err != nil {
		return err
	}
	u, err := scim.NewUser(body)
	if err != nil {
		return err
	}
	ctx, cancel := x.act()
	defer cancel()
	const act = "users.create"
	if u, err = x.store.CreateUser(ctx, x.directory, u); err != nil {
		return x.failed(act, "", err)
	}
	if err := x.audit(act, u.ID, false); err != nil {
		return err
	}
	left := scim.LeftOut{}
	left.NoteUser(u)
	x.leftOut(u.ID, left)
	h := x.call.Writer().Header()
	h.Set("Location", x.writer.UserLocation(u.ID))
	h.Set("ETag", u.Version)
	return x.answer(http.StatusCreated, x.writer.User(u, x.query.Selection))
}

// changeUser answers a PUT or a PATCH.
func changeUser(change func(scim.User, []byte) (scim.User, scim.LeftOut, error)) func(*exchange) error {
	return func(x *exchange) error {
		body, err := x.call.Body()
		if err != nil {
			return err
		}
		ctx, cancel := x.act()
		defer cancel()
		id := x.call.Param("id")
		var asked scim.User
		var left scim.LeftOut
		before, after, err := x.store.ChangeUser(ctx, x.directory, id, func(u scim.User) (scim.User, error) {
			err := x.checkVersion(u.Version)
			if err == nil {
				asked, left, err = change(u, body)
			}
			return asked, err
		})
		if err != nil {
			return x.failed("users.update", id, err)
		}
		if asked.UserName != after.UserName {
			left.NoteTaken()
		}
		x.leftOut(id, left)
		if before != after {
			if err := x.audit(actOf(before, after), id, false); err != nil {
				return err
			}
		}
		x.call.Writer().Header().Set("ETag", after.Version)
		return x.answer(http.StatusOK, x.writer.User(after, x.query.Selection))
	}
}

// actOf returns what a change of a user is called in the audit trail.
func actOf(before, after scim.User) string {
	switch {
	case before.Active && !after.Active:
		return "users.deactivate"
	case !before.Active && after.Active:
		return "users.activate"
	default:
		return "users.update"
	}
}

func deleteUser(x *exchange) error {
	ctx, cancel := x.act()
	defer cancel()
	const act = "users.delete"
	id := x.call.Param("id")
	err := x.store.DeleteUser(ctx, x.directory, id, func(u scim.User) error { return x.checkVersion(u.Version) })
	if err != nil {
		return x.failed(act, id, err)
	}
	if err := x.audit(act, id, false); err != nil {
		return err
	}
	return x.empty(http.StatusNoContent)
}
