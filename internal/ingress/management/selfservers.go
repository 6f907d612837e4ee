// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/bridgeconfig/health"
	"github.com/hostedbridge/hostedbridge/internal/effective"
	"github.com/hostedbridge/hostedbridge/internal/httpapi"
	"github.com/hostedbridge/hostedbridge/internal/ingress/problems"
	"github.com/hostedbridge/hostedbridge/internal/route"
	"github.com/hostedbridge/hostedbridge/internal/selfservice"
	"github.com/hostedbridge/hostedbridge/internal/users/keys"
)

// toolsTimeout bounds the question of a bridge for its tools, which it answers from memory.
const toolsTimeout = 5 * time.Second

// Servers implements selfservice.ServerActions.
func (s *Self) Servers(ctx context.Context, of route.Backend) (selfservice.Servers, error) {
	v, err := s.viewOf(ctx, of)
	if err != nil {
		return selfservice.Servers{}, err
	}
	return selfservice.ServersOf(v), nil
}

// Server returns one of the Servers.
func (s *Self) Server(ctx context.Context, of route.Backend, name string) (selfservice.Server, error) {
	servers, err := s.Servers(ctx, of)
	if err != nil {
		return selfservice.Server{}, err
	}
	return findServer(servers, name)
}

func findServer(servers selfservice.Servers, name string) (selfservice.Server, error) {
	found, ok := servers.Find(name)
	if !ok {
		return found, problems.ServerNotFound
	}
	return found, nil
}

// Tools implements selfservice.ServerActions.
func (s *Self) Tools(ctx context.Context, of route.Backend, q selfservice.ToolQuery) (selfservice.Tools, error) {
	page, err := q.Page()
	if err != nil {
		return selfservice.Tools{}, problems.ToolsQuery.Saying(err.Error())
	}
	v, err := s.viewOf(ctx, of)
	if err != nil {
		return selfservice.Tools{}, err
	}
	first := page.First == 0
	if of.State != route.Ready {
		return selfservice.ToolsOf(v, nil, first), nil
	}
	ctx, cancel := context.WithTimeout(ctx, toolsTimeout)
	defer cancel()
	end, err := s.listing.wait(ctx, of.User)
	if err != nil {
		return selfservice.Tools{}, err
	}
	defer end()
	list, err := s.o.ListTools(ctx, of, page)
	if err != nil {
		return selfservice.ToolsOf(v, nil, first), nil // The answer says that the tools are not known.
	}
	return selfservice.ToolsOf(v, &list, first), nil
}

var errTooManyTools = fmt.Errorf("the bridge has more than %d tools", health.MaxTools)

// ToolNames returns the names of a bridge's tools. Its error says why they are not known. It keeps
// no more of the bridge's list than the names.
func (s *Self) ToolNames(ctx context.Context, of route.Backend) (selfservice.ToolNames, error) {
	b, err := s.o.Bridge(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", httpapi.BridgeUnknown, err)
	}
	if of.State != route.Ready {
		return nil, errors.New("the bridge does not run")
	}
	ctx, cancel := context.WithTimeout(ctx, toolsTimeout)
	defer cancel()
	end, err := s.listing.wait(ctx, of.User)
	if err != nil {
		return nil, err
	}
	defer end()
	return selfservice.ToolNamesOf(b.HostedBridge, func(each func(health.Tool)) error {
		list, err := s.o.ListTools(ctx, of, health.ToolPage{Limit: 1, Keep: func(t health.Tool) bool {
			each(t)
			return false
		}})
		if err == nil && list.More {
			err = errTooManyTools
		}
		return err
	})
}

// Choose implements selfservice.ServerActions.
func (s *Self) Choose(ctx context.Context, by selfservice.Actor, of route.Backend, server string, c selfservice.Choice) (selfservice.Server, error) {
	if err := c.Check(); err != nil {
		return selfservice.Server{}, problems.ChoiceRequest.Saying(err.Error() + ". " + problems.ChoiceRequest.Detail)
	}
	act := httpapi.Act{Self: true, Name: "servers.choose", Target: strings.TrimSpace(server + " " + c.Use), User: string(of.User)}
	return s.setChoice(ctx, by, of, server, choiceAct{act, &c, func(b *effective.Bridge) error {
		return selfservice.Permit(b, s.o.Recipe, server, c)
	}})
}

// ClearChoice implements selfservice.ServerActions.
func (s *Self) ClearChoice(ctx context.Context, by selfservice.Actor, of route.Backend, server string) (selfservice.Server, error) {
	act := httpapi.Act{Self: true, Name: "servers.clear", Target: server, User: string(of.User)}
	return s.setChoice(ctx, by, of, server, choiceAct{act, nil, func(b *effective.Bridge) error {
		_, err := findServer(selfservice.ServersOf(selfservice.View{Bridge: b}), server)
		return err
	}})
}

// choiceAct is a change of a choice.
type choiceAct struct {
	httpapi.Act

	choice *selfservice.Choice
	decide func(*effective.Bridge) error
}

func (s *Self) setChoice(ctx context.Context, by selfservice.Actor, of route.Backend, server string, a choiceAct) (selfservice.Server, error) {
	acting, cancel := httpapi.ActContext(ctx)
	defer cancel()
	after, err := s.o.Choices.Set(acting, of, server, a.choice, a.decide)
	if err != nil {
		problem := choiceProblem(err)
		if errors.Is(problem, problems.KeysAway) {
			a.Unsure = true
			return selfservice.Server{}, errors.Join(problem, by.Audit(a.Act))
		}
		return selfservice.Server{}, problem
	}
	if err := by.Audit(a.Act); err != nil {
		return selfservice.Server{}, err
	}
	found, ok := selfservice.ServersOf(s.view(ctx, of, after)).Find(server)
	if !ok { // The choice was all that there was.
		return selfservice.Server{Name: server, State: selfservice.ServerOff, Secrets: []string{}, Actions: []selfservice.Action{}}, nil
	}
	return found, nil
}

// choiceProblem returns err of a choice as the caller may know it.
func choiceProblem(err error) error {
	refusal, isRefusal := errors.AsType[*selfservice.Refusal](err)
	managed, isManaged := errors.AsType[*keys.ManagedError](err)
	p := problems.KeysAway
	switch {
	case isRefusal && refusal.NotFound:
		p = problems.ServerNotFound
	case isRefusal:
		p = problems.ChoiceRefused.Saying(refusal.Text)
	case isManaged:
		p = problems.ChoiceManaged.Saying("The choice is held by " + strings.Join(managed.By, ", ") + "; change it in spec.choices where they have it from.")
	case errors.Is(err, keys.ErrNoBridge):
		p = problems.NotFound
	case errors.Is(err, problems.ServerNotFound):
		p = problems.ServerNotFound
	}
	return fmt.Errorf("%w: %w", p, err)
}
