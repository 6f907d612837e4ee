// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package scimapi

import (
	"encoding/json"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/hostedbridge/hostedbridge/internal/scim"
)

func listGroups(x *exchange) error {
	f, err := scim.GroupFilter(x.query.Filter)
	if err != nil {
		return err
	}
	found, err := x.store.Groups(x.call.Request().Context(), x.directory, f)
	if err != nil {
		return busy(err)
	}
	return x.answer(http.StatusOK, x.writer.Groups(found, x.query))
}

func searchGroups(x *exchange) error { return x.search(listGroups) }

func getGroup(x *exchange) error {
	g, err := x.store.Group(x.call.Request().Context(), x.directory, x.call.Param("id"))
	if err != nil {
		return busy(err)
	}
	return x.answerRead(g.Version, func() json.RawMessage { return x.writer.Group(g, x.query.Selection) })
}

func createGroup(x *exchange) error {
	body, err := x.call.Body()
	if err != nil {
		return err
	}
	g, left, err := scim.NewGroup(body, x.store.IsUserID)
	if err != nil {
		return err
	}
	asked := len(g.Members)
	ctx, cancel := x.act()
	defer cancel()
	const act = "groups.create"
	if g, err = x.store.CreateGroup(ctx, x.directory, g); err != nil {
		return x.failed(act, "", err)
	}
	left.NoteMembers(asked - len(g.Members))
	x.leftOut(g.ID, left)
	if err := x.audit(act, g.ID, false); err != nil {
		return err
	}
	if err := x.auditMembers(g.ID, nil, g.Members); err != nil {
		return err
	}
	h := x.call.Writer().Header()
	h.Set("Location", x.writer.GroupLocation(g.ID))
	h.Set("ETag", g.Version)
	return x.answer(http.StatusCreated, x.writer.Group(g, x.query.Selection))
}

// changeGroup answers a PUT, or a PATCH: that without the group, which may have 10,000
// members, unless the directory asks for attributes of it.
func changeGroup(change func(scim.Group, []byte, scim.IsUserID) (scim.Group, scim.LeftOut, error)) func(*exchange) error {
	return func(x *exchange) error {
		body, err := x.call.Body()
		if err != nil {
			return err
		}
		ctx, cancel := x.act()
		defer cancel()
		const act = "groups.update"
		id := x.call.Param("id")
		var asked scim.Group
		var left scim.LeftOut
		before, after, err := x.store.ChangeGroup(ctx, x.directory, id, func(g scim.Group) (scim.Group, error) {
			err := x.checkVersion(g.Version)
			if err == nil {
				asked, left, err = change(g, body, x.store.IsUserID)
			}
			return asked, err
		})
		if err != nil {
			return x.failed(act, id, err)
		}
		left.NoteMembers(len(asked.Members) - len(after.Members))
		x.leftOut(id, left)
		if before.Version != after.Version {
			if err := x.audit(act, id, false); err != nil {
				return err
			}
			if err := x.auditMembers(id, before.Members, after.Members); err != nil {
				return err
			}
		}
		x.call.Writer().Header().Set("ETag", after.Version)
		if x.call.Request().Method == http.MethodPatch && x.query.Selection.IsAll() {
			return x.empty(http.StatusNoContent)
		}
		return x.answer(http.StatusOK, x.writer.Group(after, x.query.Selection))
	}
}

// membersAtOnce is how many entries of one change are written at a time: the trail writes those
// together that come together.
const membersAtOnce = 64

// auditMembers notes who was added to a group and who was removed, each in an entry.
func (x *exchange) auditMembers(id string, before, after []string) error {
	var entries errgroup.Group
	entries.SetLimit(membersAtOnce)
	note := func(act string, members []string) {
		for _, member := range members {
			entries.Go(func() error { return x.audit(act, id+" "+member, false) })
		}
	}
	note("groups.members.add", scim.Without(after, before))
	note("groups.members.remove", scim.Without(before, after))
	return entries.Wait()
}

func deleteGroup(x *exchange) error {
	ctx, cancel := x.act()
	defer cancel()
	const act = "groups.delete"
	id := x.call.Param("id")
	err := x.store.DeleteGroup(ctx, x.directory, id, func(g scim.Group) error { return x.checkVersion(g.Version) })
	if err != nil {
		return x.failed(act, id, err)
	}
	if err := x.audit(act, id, false); err != nil {
		return err
	}
	return x.empty(http.StatusNoContent)
}
