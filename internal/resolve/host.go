// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hostedbridge/hostedbridge/api/v1alpha1"
	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig"
	"github.com/hostedbridge/hostedbridge/internal/bridgestate"
	"github.com/hostedbridge/hostedbridge/internal/catalog"
	"github.com/hostedbridge/hostedbridge/internal/catalog/recipe"
)

// order ranks the transports in a pod: a remote server needs no container and
// runs no foreign program beside the user's secrets.
var order = []recipe.TransportType{recipe.StreamableHTTP, recipe.SSE, recipe.Stdio}

// hosted is a server as a recipe describes it, with its status, whose source is the server.
type hosted struct {
	v1alpha1.RecipeStatus

	said bridgeconfig.Server
}

// host returns the server that a version describes.
func (c Catalog) host(server v1alpha1.Server, v v1alpha1.RecipeVersion) (hosted, bridgestate.Finding) {
	name := server.Recipe.Name
	kept, _, err := catalog.ReadVersion(v)
	if err != nil {
		return hosted{}, notAccepted("version %s of recipe %s cannot be read: %v", v.Version, name, err)
	}
	r := kept.Recipe
	if r.LocalOnly.All {
		return hosted{}, bridgestate.Finding{Reason: v1alpha1.ReasonRecipeLocalOnly, Message: fmt.Sprintf(
			"version %s of recipe %s is for people's own machines alone (localOnly): run it there with `bridge add %s`", v.Version, name, name)}
	}
	h, err := c.transport(server, r)
	if err != nil {
		return hosted{}, bridgestate.Finding{Reason: v1alpha1.ReasonRecipeNotHostable, Message: fmt.Sprintf(
			"version %s of recipe %s has no transport that can be hosted here: %v", v.Version, name, err)}
	}
	h.Server, h.Recipe, h.Version, h.Digest = server.Name, name, v.Version, v.Digest
	h.Reason = v1alpha1.ReasonRecipeInUse
	h.Message = fmt.Sprintf("the server is what version %s of recipe %s says", v.Version, name) + stores(h.said)
	return h, bridgestate.Finding{}
}

// stores says what storage the server's program asks for.
func stores(said bridgeconfig.Server) string {
	if said.Program == nil || said.Program.Storage == nil {
		return ""
	}
	s := said.Program.Storage
	return fmt.Sprintf("; it keeps files in a volume of %s at %s", s.Size, cmp.Or(s.MountPath, v1alpha1.DefaultStorageMountPath))
}

// transport returns the converted form of the recipe's best transport.
func (c Catalog) transport(server v1alpha1.Server, r recipe.Recipe) (hosted, error) {
	var refusals []string
	for _, kind := range order {
		for i, t := range r.Transports {
			if t.Type != kind {
				continue
			}
			h, err := c.convert(server, r, t)
			if err == nil {
				return h, nil
			}
			refusals = append(refusals, fmt.Sprintf("transports[%d]: %v", i, err))
		}
	}
	return hosted{}, errors.New(strings.Join(refusals, "; "))
}

func (c Catalog) convert(server v1alpha1.Server, r recipe.Recipe, t recipe.Transport) (hosted, error) {
	if err := catalog.Hostable(r, t); err != nil {
		return hosted{}, err
	}
	r.Transports = []recipe.Transport{t}
	conversion, err := recipe.Convert(r, recipe.Choice{Name: server.Name, Platform: "linux", Volumes: true})
	if err != nil {
		return hosted{}, err
	}
	said := conversion.Server
	if err := unhostable(r, said); err != nil {
		return hosted{}, err
	}
	status := v1alpha1.RecipeStatus{Secrets: slices.Sorted(slices.Values(said.Secrets)), Place: placeOf(said, r.Install)}
	if said.OAuth != nil {
		status.TokenSecret = said.OAuth.Token
	}
	if len(conversion.Secrets) > 0 {
		status.CredentialsURL = conversion.Secrets[0].URL
	}
	said.Name, said.Secrets, said.Tools.Deny = "", nil, r.LocalOnly.Tools
	if r.Install != nil {
		said.ToolsHash = r.Install.ToolsHash
	}
	return c.encode(server, said, status)
}

// unhostable says why a pod cannot run the server. Its program must be started by
// the install's method, which decides the image.
func unhostable(r recipe.Recipe, said bridgeconfig.Server) error {
	if p := said.Program; p != nil && p.Command[0] != r.Install.Method {
		return fmt.Errorf("its program is started by %.40q and not by %s", p.Command[0], r.Install.Method)
	}
	return nil
}

// encode puts the recipe's server into the status, if a bridge accepts it.
func (c Catalog) encode(server v1alpha1.Server, said bridgeconfig.Server, status v1alpha1.RecipeStatus) (hosted, error) {
	if n := len(status.Secrets); n > secretLimit {
		return hosted{}, fmt.Errorf("it names %d secrets, and a server may use %d", n, secretLimit)
	}
	b, err := json.Marshal(said)
	if err != nil {
		return hosted{}, fmt.Errorf("encode the server: %w", err)
	}
	if len(b) > serverLimit {
		return hosted{}, fmt.Errorf("it says %d bytes of its server, and may say %d", len(b), serverLimit)
	}
	if len(status.Place) > placeLimit {
		return hosted{}, fmt.Errorf("its URLs have hosts of more than %d bytes", placeLimit)
	}
	status.Source = string(b)
	return hosted{status, said}, c.runs(bridgestate.FromRecipe(server, said, status.Secrets))
}

// runs says why the bridge would refuse the server, and with it the whole spec.
// The server passes all checks of a server in the spec.
func (c Catalog) runs(server bridgestate.Server) error {
	if f := bridgestate.Lacks(server, c.Lacking); f != (bridgestate.Finding{}) {
		return errors.New(f.Message)
	}
	if f := bridgestate.Refuses(server); f != (bridgestate.Finding{}) {
		return errors.New(f.Message)
	}
	return nil
}
