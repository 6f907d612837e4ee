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
	// Links are those by which the client installs the bridge itself, after it asked, and
	// AfterLink says where it has the key from then. AfterLink is empty without a key.
	Links     []Link
	AfterLink string
}

// Hosted returns the steps for each client that is known to use a hosted bridge at the URL. Of
// b, only URL, Keyed and Key count.
func Hosted(b Bridge) []Steps {
	b.Name, b.Hosted = HostedName, true
	var all []Steps
	for _, c := range clients {
		if c.variable != "" {
			all = append(all, c.steps(b))
		}
	}
	keyed := b
	keyed.Keyed = true // Its documentation does not say that it logs in.
	return append(all, lmStudio.steps(keyed), gooseSteps(b))
}

func (c Client) steps(b Bridge) Steps {
	s := Steps{Client: c.Name, Title: c.Title, How: c.how(b), Links: c.links(b)}
	if c.Name == "claude-code" {
		s.Text = claudeCommand(b)
	} else if file, err := c.Snippet(b); err == nil {
		s.Text = strings.TrimSuffix(string(file), "\n")
	}
	if !b.Keyed {
		s.Then = c.logIn
	}
	if len(s.Links) > 0 {
		s.AfterLink = c.afterLink(b)
	}
	return s
}

// afterLink says where the client has the key from after it followed a link.
func (c Client) afterLink(b Bridge) string {
	switch {
	case !b.Keyed || b.Key != "":
		return ""
	case c.inputs != nil:
		return c.Title + " asks for your key."
	case c.variable == ownKey:
		return "Then put your key in place of " + ownKey + " in " + c.place() + "."
	}
	return c.Title + " takes your key from the variable " + KeyVariable + " where it starts."
}

// lmStudio takes hosted bridges alone. It reads the file in the form of Cursor's:
// https://lmstudio.ai/docs/app/mcp.
var lmStudio = Client{
	Name: "lmstudio", Title: "LM Studio", Member: "mcpServers", file: everywhere(".lmstudio", "mcp.json"), remote: urlAs("url"), variable: ownKey,
}

// gooseSteps returns the steps for Goose, whose own dialog writes its file:
// documentation/docs/getting-started/using-extensions.md in https://github.com/aaif-goose/goose.
func gooseSteps(b Bridge) Steps {
	s := Steps{Client: "goose", Title: "Goose", Text: b.URL, Links: gooseLinks(b)}
	s.How = "Run goose configure, choose Add Extension, then Remote Extension (Streamable HTTP), call it " + HostedName
	if b.Keyed {
		s.How += ", add the header Authorization with the value Bearer " + cmp.Or(b.Key, ownKey)
		if b.Key == "" {
			s.AfterLink = "Then put your key in place of " + ownKey + " in the form that opens."
		}
	}
	s.How += ", and enter this address:"
	return s
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
