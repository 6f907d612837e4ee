// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package privileges

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteFindings writes what is wrong as a table.
func (c *Comparison) WriteFindings(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ACCOUNT\tWHAT IS WRONG\tRIGHT OR REQUEST\tROLE OR TIMES")
	for _, f := range c.Findings {
		account := f.Account.Name
		if f.Account.Namespace != c.Namespace {
			account = f.Account.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", account, f.Kind, f.What, f.Where)
	}
	return w.Flush()
}

// WriteUses writes each right with what it was used for as a table.
func (c *Comparison) WriteUses(to io.Writer) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ACCOUNT\tRIGHT\tROLE\tTIMES\tNAMESPACES\tNAMES")
	for _, u := range c.Uses {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\n", u.Account.Name, u.Right, u.Right.Role, u.Times, len(u.Namespaces), len(u.Names))
	}
	return w.Flush()
}

func counted(times int) string {
	if times == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", times)
}
