// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"bytes"
	"fmt"
	"strings"
)

// Row is what a client did in a situation.
type Row struct {
	Situation string
	// Windows is how many ran at once.
	Windows int
	// Offered is in how many the tool was offered to the model, and Answered in how many all its
	// results came back.
	Offered, Answered int
	// Words are what its user read.
	Words string
	// Told is what the model is told besides, empty where that is not the subject.
	Told string
	// Status is what its own command said then, empty where it was not asked.
	Status string
	// Cannot is why it was not tried, empty where it was.
	Cannot string
}

// Table is the rows of one client.
type Table struct {
	Client  Client
	Version string
	Rows    []Row
}

// Page returns the documentation's page of the tables.
func Page(intro string, tables []Table) []byte {
	var out bytes.Buffer
	out.WriteString(intro)
	for _, t := range tables {
		fmt.Fprintf(&out, "\n## %s\n\n`%s` %s\n\n", t.Client.Name, t.Client.Package, t.Version)
		out.WriteString("| situation | tools offered | results came back | what its user reads |\n| --- | --- | --- | --- |\n")
		for _, r := range t.Rows {
			if r.Cannot != "" {
				fmt.Fprintf(&out, "| %s | cannot | cannot | %s |\n", r.Situation, r.Cannot)
				continue
			}
			words := cell(r.Words)
			if r.Answered == r.Windows {
				words = "the result"
			}
			if r.Told != "" {
				words += "; " + r.Told
			}
			if r.Status != "" {
				words += "<br>Its command for servers: " + cell(r.Status)
			}
			fmt.Fprintf(&out, "| %s | %s | %s | %s |\n", r.Situation, r.count(r.Offered), r.count(r.Answered), words)
		}
	}
	return out.Bytes()
}

func (r Row) count(n int) string {
	switch {
	case r.Windows > 1:
		return fmt.Sprintf("%d of %d", n, r.Windows)
	case n > 0:
		return "yes"
	}
	return "no"
}

// cell writes words as code in a cell of a table.
func cell(words string) string {
	if words == "" {
		return "nothing"
	}
	return "`" + strings.NewReplacer("`", "'", "|", "¦").Replace(words) + "`"
}
