// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"regexp"
	"strings"

	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

var (
	// steering are variables that make installers fetch packages from elsewhere
	// or trust any server, that make interpreters and loaders run code outside
	// of the package, or that say where the configuration of these is.
	steering = regexp.MustCompile(`(?i)^(` + strings.Join([]string{
		`npm_config_.*|uv_.*|pip_.*`,
		`node_(options|path|extra_ca_certs|tls_.*)|ssl_cert_(file|dir)|requests_ca_bundle|curl_ca_bundle|openssl_(conf|modules|engines)`,
		`python(path|home|startup|inspect|userbase|warnings|breakpoint|pycacheprefix)|ld_.*|dyld_.*|bash_env|path|comspec`,
		`prefix|home|userprofile|(local)?appdata|xdg_config_.*`,
	}, "|") + `)$`)

	// proxy are the variables that name the proxy for fetching packages. A user
	// who installs a recipe may need one, and its author cannot know which.
	proxy = regexp.MustCompile(`(?i)^(.*_)?proxy$`)
	// chosen matches a value that the installing user provides, or that names
	// no proxy.
	chosen = regexp.MustCompile(`(?i)^(\$\{[A-Za-z_][A-Za-z0-9_.-]*(:-)?\}|true|false|[01]|)$`)
)

// checkEnvironment refuses variables that decide what runs.
func (p *collector) checkEnvironment(field string, t recipe.Transport) {
	for _, e := range t.Env {
		switch {
		case steering.MatchString(e.Name):
			p.add(field+".env."+e.Name, catalog.CodeDrift, "decides where packages come from, or what runs beside them: install alone may say that")
		case proxy.MatchString(e.Name) && !chosen.MatchString(e.Value):
			p.add(field+".env."+e.Name, catalog.CodeDrift, "must be one variable such as ${HTTPS_PROXY}, without a default: whose proxy fetches packages is for the user to say")
		}
	}
}
