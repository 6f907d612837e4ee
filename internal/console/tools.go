// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/console/trial"
	"github.com/hostedbridge/hostedbridge/internal/pages"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
)

// toolsPage lists the tools that apps see, and those that they do not.
type toolsPage struct {
	frame

	selfservice.Tools

	Query string
	// NextURL is the next page, empty if this is the last one.
	NextURL string
	// Listed are the tools that match, by server.
	Listed []toolGroup
}

// toolGroup are the tools of one server.
type toolGroup struct {
	Server string
	Tools  []toolLink
}

// toolLink is a tool, with its page if it can have one.
type toolLink struct {
	selfservice.Tool

	URL string
}

// tools is the page of a person's tools. It wakes nothing.
func (h *toolPages) tools(v *visit) error {
	query := v.query("q")
	found, err := h.Servers.Tools(v.Request().Context(), v.bridge, selfservice.ToolQuery{Search: query, Cursor: v.query("after")})
	if err != nil {
		return err
	}
	p := &toolsPage{frame: frame{Title: "Tools", Path: pathTools}, Tools: found, Query: query}
	if found.Next != "" {
		p.NextURL = pathTools + "?" + url.Values{"q": {query}, "after": {found.Next}}.Encode()
	}
	for _, t := range found.Tools {
		if n := len(p.Listed); n == 0 || p.Listed[n-1].Server != t.Server {
			p.Listed = append(p.Listed, toolGroup{Server: t.Server})
		}
		group := &p.Listed[len(p.Listed)-1]
		group.Tools = append(group.Tools, linkOf(t, found.Mode))
	}
	return h.show(v, "tools", http.StatusOK, p)
}

// linkOf returns a tool with its page. In mode Router, the bridge lists one tool, which calls
// the others by their servers' names.
func linkOf(t selfservice.Tool, mode v1alpha1.Mode) toolLink {
	if mode == v1alpha1.ModeRouter {
		return toolLink{t, pageURL(pathServers, t.Server, "tools", t.Tool)}
	}
	return toolLink{t, pageURL(pathTools, t.Name)}
}

// serverTools are the tools of one server, on its page.
type serverTools struct {
	// Known is whether the bridge said which tools there are, and Trouble why it did not.
	Known   bool
	Trouble string
	Tools   []toolLink
	// Missing are those of the server's tools that apps do not see.
	Missing []selfservice.MissingTool
	// All leads to the tools of all servers, where there are more than these.
	All string
}

// toolsOf returns the tools of a server that the person has, nil for any other. It wakes
// nothing.
func (h *serverPages) toolsOf(v *visit, s selfservice.Server) *serverTools {
	if !s.Has() {
		return nil
	}
	found, err := h.Servers.Tools(v.Request().Context(), v.bridge, selfservice.ToolQuery{Server: s.Name})
	if err != nil {
		return &serverTools{Trouble: h.troubleOf(v, "The tools", err)}
	}
	of := &serverTools{Known: found.Known}
	for _, t := range found.Tools {
		of.Tools = append(of.Tools, linkOf(t, found.Mode))
	}
	for _, m := range found.Missing {
		if m.Server == s.Name && m.Tool != "" {
			of.Missing = append(of.Missing, m)
		}
	}
	if found.Next != "" {
		of.All = pathTools
	}
	return of
}

// pageURL returns the page of a tool, empty for one with a name that no path can have.
func pageURL(parts ...string) string {
	if strings.ContainsRune(parts[len(parts)-1], '/') {
		return ""
	}
	if path := strings.Join(parts, "/"); pathForm.MatchString(path) {
		return path
	}
	return ""
}

// wakeTools wakes the bridge, so that it lists its tools.
func (h *toolPages) wakeTools(v *visit) error {
	if _, err := trial.Result(v.Exchange(trial.List(""))); err != nil && !errors.Is(err, trial.ErrTruncated) {
		return listFailed(err)
	}
	return v.done(pathTools, "awake")
}

// toolPage is a tool with a form by which it is tried.
type toolPage struct {
	frame

	Tool trial.Tool
	// Server has the tool, empty where the bridge itself lists it.
	Server string
	// Action is where the form is sent.
	Action string
	// Fields are its arguments; without AsForm they are one text of JSON.
	Fields []trial.Field
	AsForm bool
	// JSON is what was entered for all arguments, and JSONError what is wrong with it.
	JSON, JSONError string
	Schema          string
	// ConfirmError says that a tool that can delete was not confirmed.
	ConfirmError string
	Wrong        bool
	Ran          *ran
}

// ran is what a call came to.
type ran struct {
	trial.Outcome

	// Problem says why there is no result.
	Problem string
	Took    string
	Empty   bool
}

// tool is the page of one tool.
func (h *toolPages) tool(v *visit) error {
	p, err := h.newToolPage(v)
	if err != nil {
		return err
	}
	return h.show(v, "tool", http.StatusOK, p)
}

// newToolPage returns the page of a tool, whose schema the bridge has.
func (h *toolPages) newToolPage(v *visit) (*toolPage, error) {
	name, server := v.Param("tool"), v.Param("server")
	find := func() (*trial.Tool, error) { return trial.Find(v.Exchange, name) }
	if server != "" {
		find = func() (*trial.Tool, error) { return trial.FindThroughRouter(v.Exchange, server, name) }
	}
	t, err := find()
	if err != nil {
		return nil, listFailed(err)
	}
	if t == nil {
		return nil, errNotFound
	}
	p := &toolPage{frame: frame{Title: t.Name, Path: pathTools}, Tool: *t, Server: server, Action: v.Request().URL.Path, Schema: schemaText(t.InputSchema)}
	p.Fields, p.AsForm = trial.Fields(t.InputSchema)
	return p, nil
}

func schemaText(schema json.RawMessage) string {
	var indented bytes.Buffer
	if json.Indent(&indented, schema, "", "  ") != nil {
		return ""
	}
	return pages.Visible(indented.String(), pages.ResultLength)
}

// runTool calls a tool with what was entered.
func (h *toolPages) runTool(v *visit) error {
	p, err := h.newToolPage(v)
	if err != nil {
		return err
	}
	arguments, right := p.read(v)
	if !right {
		p.Wrong = true
		return h.show(v, "tool", http.StatusUnprocessableEntity, p)
	}
	begun := time.Now()
	call := trial.Call(p.Tool.Name, arguments)
	if p.Server != "" {
		call = trial.CallThroughRouter(p.Server, p.Tool.Name, arguments)
	}
	result, err := trial.Result(v.Exchange(call))
	p.Ran = &ran{Took: Took(time.Since(begun).Milliseconds())}
	if err != nil {
		p.Ran.Problem = problemText(err)
		return h.show(v, "tool", http.StatusOK, p)
	}
	p.Ran.Outcome = trial.OutcomeOf(result)
	p.Ran.Text = pages.Visible(p.Ran.Text, pages.ResultLength)
	p.Ran.Empty = p.Ran.Text == ""
	return h.show(v, "tool", http.StatusOK, p)
}

// read returns the arguments that were entered, and whether all of it is right.
func (p *toolPage) read(v *visit) (json.RawMessage, bool) {
	right := true
	if p.Tool.Deletes() && v.form.Get("confirm") == "" {
		p.ConfirmError, right = "Confirm that you want to run this tool.", false
	}
	if p.AsForm {
		arguments, ok := trial.Arguments(p.Fields, v.form)
		return arguments, ok && right
	}
	p.JSON = v.form.Get(trial.FieldAll)
	var arguments json.RawMessage
	arguments, p.JSONError = trial.Object(p.JSON)
	return arguments, p.JSONError == "" && right
}

// listFailed returns what a person sees where their bridge did not describe its tools.
func listFailed(err error) error {
	if errors.Is(err, trial.ErrTruncated) {
		return errBridge.Saying("Your bridge describes its tools at greater length than this page can read. Your apps can call the tool.")
	}
	return errBridge.Saying(problemText(err))
}

// problemText says why a call has no result.
func problemText(err error) string {
	if f, ok := errors.AsType[*trial.Failure](err); ok {
		return pages.Visible(f.Message, pages.TextLength)
	}
	return "The answer is longer than this page can show. The call itself was made."
}
