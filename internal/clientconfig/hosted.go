// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clientconfig

import (
	"cmp"
	"path"
	"strings"
)

// Steps are what a person does to have a client use a hosted bridge.
type Steps struct {
	// Client is the client's name on the command line, and Title the one that people know.
	Client, Title string
	// How says what to do with Text, and Then what to do after it; Then may be empty.
	How, Text, Then string
}

// Hosted returns the steps for each client that is known to use a hosted bridge at the URL. Of
// b, only URL, Keyed and Key count.
func Hosted(b Bridge) []Steps {
	b.Name, b.Hosted = HostedName, true
	var all []Steps
	for _, c := range clients {
		if c.variable == "" {
			continue
		}
		s := Steps{Client: c.Name, Title: c.Title, How: c.how(b)}
		if c.Name == "claude-code" {
			s.Text = claudeCommand(b)
		} else if file, err := c.Snippet(b); err == nil {
			s.Text = strings.TrimSuffix(string(file), "\n")
		}
		if !b.Keyed {
			s.Then = c.logIn
		}
		all = append(all, s)
	}
	return all
}

// claudeCommand returns the command that adds the bridge to Claude Code, in all folders. The shell
// leaves the variable as it is, since Claude Code writes the header into its file.
func claudeCommand(b Bridge) string {
	command := "claude mcp add --scope user --transport http " + b.Name + " " + b.URL
	if b.Keyed {
		command += " --header 'Authorization: Bearer " + cmp.Or(b.Key, fromEnvironment) + "'"
	}
	return command
}

// how says what to do with the client's text.
func (c Client) how(b Bridge) string {
	begin := "Put this into " + c.place()
	switch {
	case c.Name == "claude-code" && b.Keyed && b.Key == "":
		return "Put your key into the variable " + KeyVariable + " where " + c.Title + " starts, and run in a terminal:"
	case c.Name == "claude-code":
		return "Run in a terminal:"
	case !b.Keyed || b.Key != "":
		return begin + ":"
	case c.inputs != nil:
		return begin + ". " + c.Title + " asks for the key once, and keeps it:"
	case c.variable == ownKey:
		return begin + ", with your key in place of " + ownKey + ":"
	}
	return begin + ", and your key into the variable " + KeyVariable + " where " + c.Title + " starts:"
}

// place returns the path of the client's file as people write it.
func (c Client) place() string {
	if c.project != "" {
		return c.project
	}
	return "~/" + path.Join(c.file["linux"]...)
}
