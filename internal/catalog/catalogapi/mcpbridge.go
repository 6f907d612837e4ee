// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogapi

import (
	"encoding/json"

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
	b, err := json.Marshal(o)
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
// signature covers.
func (a *readHandler) download(c httpapi.Call) error {
	item, err := a.item(c)
	if err != nil {
		return err
	}
	return page{item.Download, item.ETag}.write(c)
}
