// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"fmt"

	"github.com/hostedbridge/hostedbridge/api/jsondoc"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
	"github.com/hostedbridge/hostedbridge/internal/catalog/search"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
)

// mcpBridgeItem is a recipe in the lists of mcp-bridge, whose client installs
// it by its name.
type mcpBridgeItem struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Title        string   `json:"title"`
	Description  string   `json:"description"`
	Category     string   `json:"category,omitempty"`
	Tags         []string `json:"tags,omitempty"`
	Quality      *int     `json:"quality,omitempty"`
	AuthRequired bool     `json:"authRequired"`
	AuthSummary  string   `json:"authSummary,omitempty"`
	Origin       string   `json:"origin,omitempty"`
	Maturity     string   `json:"maturity,omitempty"`
	SideEffects  string   `json:"sideEffects,omitempty"`
	Pricing      string   `json:"pricing,omitempty"`
	Transports   []string `json:"transports"`
	Version      string   `json:"version"`
	HostedSafe   bool     `json:"hostedSafe"`
	Badges       []string `json:"badges"`
}

func mcpBridgeItemOf(i *search.Item) []byte {
	s := search.Summarize(i.View)
	o := mcpBridgeItem{
		ID: s.ID, Name: s.ID, Title: s.Name, Description: s.Description, Category: s.Category, Tags: s.Tags,
		Quality: s.Score, AuthRequired: s.AuthRequired, AuthSummary: s.AuthSummary, Origin: s.Origin,
		Maturity: s.Maturity, SideEffects: s.SideEffects, Pricing: s.Pricing, Transports: s.Transports,
		Version: s.Version, HostedSafe: s.HostedSafe, Badges: []string{},
	}
	if s.Signed {
		o.Badges = append(o.Badges, "signed")
	}
	if s.Verified {
		o.Badges = append(o.Badges, "verified")
	}
	if s.Badge != "" {
		o.Badges = append(o.Badges, s.Badge)
	}
	b, err := jsondoc.Marshal(o)
	if err != nil {
		return []byte("{}") // Texts, numbers and booleans alone.
	}
	return b
}

// listForMCPBridge answers with recipes in mcp-bridge's shape.
func (a *readHandler) listForMCPBridge(c httpapi.Call) error {
	found, err := a.find(c, listParameters)
	if err != nil {
		return err
	}
	return listed("results", found, mcpBridgeItemOf).write(c)
}

// searchForMCPBridge is listForMCPBridge with a required text.
func (a *readHandler) searchForMCPBridge(c httpapi.Call) error {
	if err := needText(c); err != nil {
		return err
	}
	return a.listForMCPBridge(c)
}

// download answers with the recipe file as its author wrote it, which is what a
// signature covers. The installation signs its own recipes, whose authors do not.
func (a *readHandler) download(c httpapi.Call) error {
	item, err := a.item(c)
	if err != nil {
		return err
	}
	if a.signer == nil || item.Entry.Recipe.Signature != nil || item.Entry.Owner != "" && item.Entry.Owner != catalog.SeedOwner {
		return pageOf(item.Download, item.ETag).write(c)
	}
	signed, err := a.signer.Sign(item.Download, item.Entry.Updated)
	if err != nil {
		return err
	}
	return pageOf(signed, fmt.Sprintf(`"%s-%.8s"`, item.Entry.Revision, a.signer.PublicKey())).write(c)
}

// catalogKey answers with the key that verifies the installation's signatures.
func (a *readHandler) catalogKey(c httpapi.Call) error {
	if a.signer == nil {
		return errNoCatalogKey
	}
	key := a.signer.PublicKey()
	b, err := jsondoc.Marshal(struct {
		PublisherID string `json:"publisherId"`
		PublicKey   string `json:"publicKey"`
	}{recipe.InstallationPublisher, key})
	if err != nil {
		return err
	}
	return pageOf(b, fmt.Sprintf("%q", key)).write(c)
}
