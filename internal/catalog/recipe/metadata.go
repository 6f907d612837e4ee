// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package recipe

// Metadata is what a catalog shows and searches.
type Metadata struct {
	Homepage         string            `json:"homepage,omitempty"`
	License          string            `json:"license,omitempty"`
	Author           string            `json:"author,omitempty"`
	Maintainer       *Maintainer       `json:"maintainer,omitempty"`
	Tags             []string          `json:"tags,omitempty"`
	Category         string            `json:"category,omitempty"`
	Subcategory      string            `json:"subcategory,omitempty"`
	Origin           string            `json:"origin,omitempty"`
	Countries        []string          `json:"countries,omitempty"`
	Languages        []string          `json:"languages,omitempty"`
	Audience         string            `json:"audience,omitempty"`
	SelfHosted       bool              `json:"selfHosted,omitempty"`
	SideEffects      string            `json:"sideEffects,omitempty"`
	Pricing          string            `json:"pricing,omitempty"`
	Maturity         string            `json:"maturity,omitempty"`
	FirstPublished   string            `json:"firstPublished,omitempty"`
	LastVerified     string            `json:"lastVerified,omitempty"`
	ToolCount        int               `json:"toolCount,omitempty"`
	ToolExamples     []ToolExample     `json:"toolExamples,omitempty"`
	ResourceExamples []ResourceExample `json:"resourceExamples,omitempty"`
	AuthSummary      string            `json:"authSummary,omitempty"`
	RateLimit        *RateLimit        `json:"rateLimit,omitempty"`
	CostPerCall      float64           `json:"costPerCall,omitempty"`
	CostCurrency     string            `json:"costCurrency,omitempty"`
	Verification     *Verification     `json:"verification,omitempty"`
	// Sources are the public pages from which the recipe's facts were taken.
	Sources []string `json:"sources,omitempty"`
	// Checked is how the facts were checked: read or called.
	Checked string `json:"checked,omitempty"`
}

// The values of Metadata.Checked.
const (
	// CheckedRead means that the facts were read on pages: nobody called the
	// server.
	CheckedRead = "read"
	// CheckedCalled means that the server was called or started as the recipe
	// says.
	CheckedCalled = "called"
)

// Maintainer maintains the recipe.
type Maintainer struct {
	Name   string `json:"name,omitempty"`
	Email  string `json:"email,omitempty"`
	GitHub string `json:"github,omitempty"`
	URL    string `json:"url,omitempty"`
}

// ToolExample is one of the server's tools.
type ToolExample struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// ResourceExample is one of the server's resources.
type ResourceExample struct {
	URI         string `json:"uri"`
	Description string `json:"description,omitempty"`
}

// RateLimit is the rate of calls that the author recommends.
type RateLimit struct {
	SuggestedDailyLimit   int `json:"suggestedDailyLimit,omitempty"`
	SuggestedMonthlyLimit int `json:"suggestedMonthlyLimit,omitempty"`
}

// Verification is what a catalog's tests found.
type Verification struct {
	Tier1        string `json:"tier1,omitempty"`
	Tier2        string `json:"tier2,omitempty"`
	Tier2Tools   int    `json:"tier2Tools,omitempty"`
	Tier2Date    string `json:"tier2Date,omitempty"`
	Tier2Reason  string `json:"tier2Reason,omitempty"`
	Tier2Note    string `json:"tier2Note,omitempty"`
	DepAudit     string `json:"depAudit,omitempty"`
	DepAuditDate string `json:"depAuditDate,omitempty"`
	DepAuditNote string `json:"depAuditNote,omitempty"`
}
