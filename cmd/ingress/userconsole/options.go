// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

// Package userconsole makes the users' console of what the ingress has.
package userconsole

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/hostedbridge/hostedbridge/internal/authserver"
	"github.com/hostedbridge/hostedbridge/internal/authserver/flow"
	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/console/session"
	"github.com/hostedbridge/hostedbridge/internal/ingress/management"
	"github.com/hostedbridge/hostedbridge/internal/web"
)

// Options are the flags of the console.
type Options struct {
	Enabled bool
	// Administrators is whether there is a console for administrators too.
	Administrators bool
	Name, Contact  string
	LogoFile       string
}

// Defaults returns the options of an installation as it is shipped.
func Defaults() Options { return Options{Enabled: true, Administrators: true} }

// maxName is how long a name or contact may be: they are on each page.
const maxName = 120

// RegisterFlags binds the options to flags.
func (o *Options) RegisterFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Enabled, "console", o.Enabled, "serve the users' console at /")
	fs.BoolVar(&o.Administrators, "console-administrators", o.Administrators, "serve the administrators' console at /console, with --console")
	fs.StringVar(&o.Name, "console-name", o.Name, "name of the installation on its pages (default: that of the logins, or hosted-bridge)")
	fs.StringVar(&o.Contact, "console-contact", o.Contact, "whom users are told to ask: a name, an e-mail address or an https URL (default: an administrator)")
	fs.StringVar(&o.LogoFile, "console-logo-file", o.LogoFile, "logo of the console's pages, PNG or SVG of at most 64 KiB")
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

// Validate returns everything that is wrong with the options, by flag.
func (o *Options) Validate() error {
	var errs []error
	for flag, text := range map[string]string{"console-name": o.Name, "console-contact": o.Contact} {
		if web.Visible(text, maxName) != text {
			errs = append(errs, fmt.Errorf("--%s must be at most %d printable characters", flag, maxName))
		}
	}
	return errors.Join(errs...)
}

// Parts are what the console stands on.
type Parts struct {
	Self     *management.Self
	Requests *management.Requests
	// Signer signs sessions by keys of which Keys has the public halves.
	Signer flow.Signer
	Keys   flow.KeySet
	// Ends are when sessions were ended before their time.
	Ends session.Ends
	// BaseURL is where users reach the installation, and Name what it is called if the
	// options do not say.
	BaseURL, Name string
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
	made := console.Options{Patience: changePatience, Name: cmp.Or(o.Name, p.Name), Contact: o.Contact, Logo: logo, BaseURL: p.BaseURL, Log: p.Log,
		Servers: p.Self, Keys: p.Self, Secrets: p.Self, History: p.Self, Requests: p.Requests,
		Sessions: session.NewKeeper(session.Options{Issuer: cmp.Or(p.BaseURL, "hosted-bridge"), Signer: p.Signer, Keys: p.Keys, Ends: p.Ends, Random: rand.Reader, Now: time.Now})}
	if p.Server != nil {
		made.Login, made.Ended = authserver.ConsolePath, p.Server.LoginEnded
	}
	return console.New(made)
}
