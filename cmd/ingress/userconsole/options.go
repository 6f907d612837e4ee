// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package userconsole makes the users' console of what the ingress has.
package userconsole

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/authserver"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/pages"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/setting"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
	"github.com/hostedbridge/hostedbridge/internal/users/news"
	"github.com/hostedbridge/hostedbridge/internal/users/requests"
)

// Options are the flags of the console.
type Options struct {
	Enabled bool
	// Administrators is whether there is a console for administrators too.
	Administrators bool
	Name, Contact  string
	LogoFile       string
}

// maxName is how long a name or contact may be: they are on each page.
const maxName = 120

// Declare declares the settings.
func (o *Options) Declare(s *setting.Set) {
	s.Bool(&o.Enabled, "console", true, "serve the users' console at /")
	s.Bool(&o.Administrators, "console-administrators", true, "serve the administrators' console at /console, with --console")
	s.String(&o.Name, "console-name", "", "name of the installation on its pages (default: that of the logins, or hosted-bridge)", printable)
	s.String(&o.Contact, "console-contact", "", "whom users are told to ask: a name, an e-mail address or an https URL (default: an administrator)", printable)
	s.String(&o.LogoFile, "console-logo-file", "", "logo of the console's pages, PNG or SVG of at most 64 KiB")
}

func printable(value string) error {
	if pages.Visible(value, maxName) != value {
		return fmt.Errorf("the value cannot be shown; give at most %d printable characters", maxName)
	}
	return nil
}

// WhereKeysAre says where a person gets a key of the installation at a URL, which may be empty.
func (o *Options) WhereKeysAre(baseURL string) string {
	ask := "Ask " + cmp.Or(o.Contact, "an administrator") + " for a key"
	if !o.Enabled {
		return ask + "."
	}
	return ask + "; with one you make others at " + strings.TrimSuffix(baseURL, "/") + "/keys."
}

// ServesAdministrators reports whether there is a console for administrators.
func (o *Options) ServesAdministrators() bool { return o.Enabled && o.Administrators }

// Parts are what the console stands on.
type Parts struct {
	Self     *management.Self
	Requests *requests.Requests
	News     *news.News
	UserKeys *keys.Keys
	// Signer signs sessions by keys of which Keys has the public halves.
	Signer flow.Signer
	Keys   flow.KeySet
	// Ends are when sessions were ended before their time.
	Ends session.Ends
	// BaseURL is where users reach the installation, and Name what it is called if the
	// options do not say.
	BaseURL, Name string
	// Recipe has what the catalog knows of recipes.
	Recipe selfservice.Recipes
	// Server logs people in, nil where there are no logins.
	Server *authserver.Server
	Log    *slog.Logger
}

// Look returns what the pages of logins show of these options: the contact, and the path of
// the logo.
func (o *Options) Look() (contact, logo string, err error) {
	content, err := o.readLogo()
	if err != nil || !o.Enabled {
		return o.Contact, "", err
	}
	logo, err = console.LogoPath(content)
	return o.Contact, logo, err
}

func (o *Options) readLogo() ([]byte, error) {
	if o.LogoFile == "" {
		return nil, nil
	}
	logo, err := os.ReadFile(o.LogoFile)
	if err != nil {
		return nil, fmt.Errorf("--console-logo-file: %w", err)
	}
	return logo, nil
}

// changePatience is longer than a server that a user turns on takes on an idle cluster,
// which is some 3 seconds.
const changePatience = 5 * time.Second

// Open returns the console.
func (o *Options) Open(p Parts) (*console.Console, error) {
	logo, err := o.readLogo()
	if err != nil {
		return nil, err
	}
	made := console.Options{Patience: changePatience, Administered: o.Administrators, Name: cmp.Or(o.Name, p.Name), Contact: o.Contact, Logo: logo, BaseURL: p.BaseURL, Log: p.Log,
		Servers: p.Self, Keys: p.UserKeys, Secrets: p.Self, History: p.Self, Requests: p.Requests, News: p.News, Recipe: p.Recipe,
		Sessions: session.NewKeeper(session.Options{Issuer: cmp.Or(p.BaseURL, "hosted-bridge"), Signer: p.Signer, Keys: p.Keys, Ends: p.Ends, Random: rand.Reader, Now: time.Now})}
	if p.Server != nil {
		made.Login, made.Ended = authserver.ConsolePath, p.Server.LoginEnded
	}
	return console.New(made)
}
