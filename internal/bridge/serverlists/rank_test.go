// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package serverlists

import (
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestIntentsFindTheirTools(t *testing.T) {
	tests := []struct {
		intent string
		want   string // the tool that must be first
		among  string // others that must be in the first three
	}{
		{"open a bug report issue on GitHub", "create_issue", ""},
		{"list the issues of the repo", "list_issues", "get_issue"},
		{"comment on an issue", "add_issue_comment", ""},
		{"search code in repositories", "search_code", "search_repositories"},
		{"open a pull request", "create_pull_request", "merge_pull_request"},
		{"merge the PR", "merge_pull_request", "create_pull_request"},
		{"show me the last commits", "list_commits", ""},
		{"fork a repository", "fork_repository", ""},
		{"read a file from disk", "read_file", ""},
		{"make a new folder", "create_directory", ""},
		{"rename a file", "move_file", ""},
		{"find files matching a pattern", "search_files", ""},
		{"how large is the file and who may read it, permissions", "get_file_info", ""},
		{"remove a file", "delete_file", ""},
		{"post a message to the Slack channel", "slack_post_message", "slack_get_channel_history"},
		{"reply in a thread", "slack_reply_to_thread", ""},
		{"add an emoji reaction", "slack_add_reaction", ""},
		{"run a SQL query", "query", ""},
		{"what columns does the table have", "describe_table", "list_tables"},
		{"send an email", "send_email", "draft_email"},
		{"find mails from my bank", "search_emails", ""},
		{"write a draft of a mail", "draft_email", ""},
		{"schedule a meeting with attendees", "createEvent", ""},
		{"when are all attendees free", "findFreeSlots", ""},
		{"what's on my calendar: list upcoming events", "listEvents", ""},
		{"take a screenshot of the page", "browser_take_screenshot", ""},
		{"click the button element", "browser_click", ""},
		{"search the web", "web_search", ""},
		{"latest news articles", "news_search", ""},
		{"refund a customer's payment", "create_refund", ""},
		{"list invoices", "list_invoices", ""},
		{"weather forecast for tomorrow", "get-forecast", ""},
		{"are there storm alerts", "get-alerts", ""},
		{"logs of the pod", "kubectl_logs", ""},
		{"scale deployment", "scaleDeployment", ""},
		{"everything in the knowledge graph", "read_graph", "search_nodes"},
	}
	tools := catalogOfTools()
	if len(tools) < 60 {
		t.Fatalf("the catalog has %d tools", len(tools))
	}
	x := newToolIndex(tools)
	for _, tt := range tests {
		t.Run(tt.intent, func(t *testing.T) {
			var names []string
			var scores []float64
			for _, m := range x.Search(tt.intent, 3) {
				names, scores = append(names, tools[m.Tool].Name), append(scores, m.Score)
			}
			if len(names) == 0 || names[0] != tt.want || tt.among != "" && !slices.Contains(names, tt.among) {
				t.Fatalf("found %v with scores %v, want %s first and among them %q", names, scores, tt.want, tt.among)
			}
			if scores[0] < 0.3 {
				t.Errorf("score of %s = %v, too low for a match", names[0], scores[0])
			}
		})
	}
}

func TestWhatNoToolDoesScoresLow(t *testing.T) {
	tools := catalogOfTools()
	x := newToolIndex(tools)
	for _, intent := range []string{"order a pizza", "translate the poem into Latin", "transpose my guitar chords", "the and of", ""} {
		for _, m := range x.Search(intent, 1) {
			if m.Score >= 0.3 {
				t.Errorf("%q finds %s with score %v", intent, tools[m.Tool].Name, m.Score)
			}
		}
	}
}

func TestEqualToolsKeepTheirOrder(t *testing.T) {
	tool := searchable{Server: "a", Name: "echo", Description: "says it"}
	x := newToolIndex([]searchable{tool, tool, tool})
	var order []int
	for _, m := range x.Search("echo", 10) {
		order = append(order, m.Tool)
	}
	if diff := cmp.Diff([]int{0, 1, 2}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if got := x.Search("echo", 0); len(got) != 0 {
		t.Errorf("no results are wanted, got %v", got)
	}
	if got := newToolIndex(nil).Search("echo", 3); len(got) != 0 {
		t.Errorf("there are no tools, got %v", got)
	}
}

func TestWords(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []string
	}{
		"snake case":                      {"list_open_issues", []string{"list", "open", "issues"}},
		"kebab case":                      {"get-forecast", []string{"get", "forecast"}},
		"camel case":                      {"scaleDeployment", []string{"scale", "deployment"}},
		"an acronym ends before a word":   {"parseHTTPResponse", []string{"parse", "http", "response"}},
		"an acronym at the end":           {"toURL", []string{"to", "url"}},
		"digits are words of their own":   {"page2of3", []string{"page", "2", "of", "3"}},
		"other letters are letters":       {"Größe ändern", []string{"größe", "ändern"}},
		"punctuation only separates":      {"a.b/c: d!", []string{"a", "b", "c", "d"}},
		"nothing":                         {" -- ", nil},
		"a word that nobody would search": {strings.Repeat("x", maxWord+1) + " y", []string{"y"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, wordsOf(tt.in)); diff != "" {
				t.Errorf("words (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStemsOfOneWordAreEqual(t *testing.T) {
	for _, group := range []string{
		"issue issues", "create creates creating created", "query queries", "search searches searching searched",
		"stop stops stopping stopped", "call calls calling", "box boxes", "repository repositories", "file files", "list listing listed",
	} {
		words := strings.Fields(group)
		for _, w := range words[1:] {
			if stem(w) != stem(words[0]) {
				t.Errorf("%s becomes %s, but %s becomes %s", words[0], stem(words[0]), w, stem(w))
			}
		}
	}
	for _, w := range []string{"status", "this", "class", "ring", "bed", "s"} {
		if got := stem(w); got != w {
			t.Errorf("%s becomes %s", w, got)
		}
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("create an issue", "create_issue", "Creates issues")
	f.Add("\xff\xfe", "", "İ ing ed s")
	f.Add("ﬁnd ΑΣ", "a1B2", strings.Repeat("word ", 300))
	f.Fuzz(func(t *testing.T, query, name, description string) {
		tools := []searchable{{Name: name, Description: description}, {Server: "s", Name: "search"}, {Name: name, Description: description}}
		x := newToolIndex(tools)
		matches := x.Search(query, 3)
		for i, m := range matches {
			if m.Score <= 0 || m.Score > 1 || math.IsNaN(m.Score) || m.Tool < 0 || m.Tool > 2 {
				t.Errorf("match %+v", m)
			}
			if i > 0 && m.Score > matches[i-1].Score {
				t.Errorf("the matches are not in order: %v", matches)
			}
		}
		if !cmp.Equal(matches, newToolIndex(tools).Search(query, 3)) {
			t.Error("equal searches give different answers")
		}
		for _, w := range wordsOf(query) {
			if w == "" || utf8.ValidString(query) && !utf8.ValidString(w) {
				t.Errorf("word %q", w)
			}
		}
	})
}
