// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package commands

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/laptop"
	"github.com/hostedbridge/hostedbridge/internal/setting"
)

// listOptions are the settings of bridge search and bridge list.
type listOptions struct {
	catalog  string
	category string
	here     bool
	limit    int
	asJSON   bool
}

func (o *listOptions) register(c *cobra.Command) {
	f := settings(c)
	f.StringVar(&o.catalog, "catalog", "", "URL of the catalog (default: "+envCatalog+")")
	f.StringVar(&o.category, "category", "", "only recipes of this category, such as productivity")
	f.BoolVar(&o.here, "here", false, "only recipes that the hosted bridges of the catalog's installation can run")
	f.Int(&o.limit, "limit", 20, "how many recipes to print at most, 1 to 100", setting.Between(1, 100))
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
}

// newSearch returns the command that finds recipes by words.
func newSearch() *cobra.Command {
	var o listOptions
	none := ""
	c := &cobra.Command{
		Use:   "search WORD...",
		Short: "Find recipes in a catalog",
		Args:  cobra.MinimumNArgs(1),
		RunE: withMachine(&none, func(c *cobra.Command, m *machine, args []string) error {
			return o.run(c, m, url.Values{"q": {strings.Join(args, " ")}})
		}),
	}
	o.register(c)
	return c
}

// newList returns the command that lists recipes.
func newList() *cobra.Command {
	var o listOptions
	none := ""
	c := &cobra.Command{
		Use:   "list",
		Short: "List the recipes of a catalog by name",
		Args:  cobra.NoArgs,
		RunE: withMachine(&none, func(c *cobra.Command, m *machine, _ []string) error {
			return o.run(c, m, url.Values{"sort": {"name"}})
		}),
	}
	o.register(c)
	return c
}

func (o listOptions) run(c *cobra.Command, m *machine, query url.Values) error {
	catalog, err := m.openCatalog(o.catalog)
	if err != nil {
		return err
	}
	query.Set("limit", strconv.Itoa(o.limit))
	if o.category != "" {
		query.Set("category", o.category)
	}
	if o.here {
		query.Set("here", "true")
	}
	found, err := catalog.List(c.Context(), query)
	if err != nil {
		return err
	}
	if o.asJSON {
		return jsondoc.Print(c.OutOrStdout(), found)
	}
	if found.Total == 0 {
		c.PrintErrln("no recipe is found")
		return nil
	}
	if err := printRecipes(c, found.Recipes); err != nil {
		return err
	}
	if more := found.Total - len(found.Recipes); more > 0 {
		c.PrintErrf("%d more; --limit prints up to 100\n", more)
	}
	return nil
}

func printRecipes(c *cobra.Command, recipes []laptop.Listed) error {
	w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "RECIPE\tNAME\tCREDENTIALS\tNOTE")
	for _, r := range recipes {
		credentials := r.AuthSummary
		switch {
		case credentials == "" && r.AuthRequired:
			credentials = "needed"
		case credentials == "":
			credentials = "none"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(r.ID), printable(r.Name), printable(credentials), printable(noteOf(r)))
	}
	return w.Flush()
}

// noteOf is what a person should know before they add a recipe.
func noteOf(r laptop.Listed) string {
	var notes []string
	if d := r.Deprecated; d != nil {
		note := "deprecated"
		if d.ReplacedBy != "" {
			note += ", replaced by " + d.ReplacedBy
		}
		notes = append(notes, note)
	}
	if r.Checked == recipe.CheckedRead {
		notes = append(notes, "read in documentation, never called")
	}
	if !r.HostedSafe {
		notes = append(notes, "for your own machine only")
	} else if r.Here != nil && !r.Here.Runs {
		notes = append(notes, "hosted bridges there cannot run it")
	}
	return strings.Join(notes, "; ")
}

// printable keeps the catalog's text from steering the terminal or the table.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || !unicode.IsPrint(c) {
			return ' '
		}
		return c
	}, text)
}
