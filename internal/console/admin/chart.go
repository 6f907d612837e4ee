// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"fmt"
	"strings"
	"time"

	"github.com/hostedbridge/hostedbridge/internal/console"
	"github.com/hostedbridge/hostedbridge/internal/overview"
)

// chart is a picture of figures over time. The table below the charts has the same figures.
// Its text is beside the picture, so that it stays readable at any width.
type chart struct {
	ID, Title string
	// Summary says in a sentence what the picture shows.
	Summary string
	// Top is the highest value of the axis, which begins at 0, and From and To where the
	// time begins and ends.
	Top, From, To string
	Lines         []line
	Bars          []bar
}

// line is a line of a chart, and the area below it for the first one.
type line struct {
	// Class is its look, and Label what it stands for, empty for the only one.
	Class, Label string
	Points, Area string
}

// bar is one bar of a chart.
type bar struct{ X, Y, Width, Height string }

// The size of a chart, in units of its own.
const (
	chartWidth  = 600
	chartHeight = 120
)

// chartsOf returns the charts of figures: calls, people, errors and latency.
func chartsOf(a overview.Analytics) []chart {
	steps := a.Steps
	called, people := make([]float64, len(steps)), make([]float64, len(steps))
	latency, slow, errors := make([]float64, len(steps)), make([]float64, len(steps)), make([]float64, len(steps))
	for i, s := range steps {
		called[i], people[i], errors[i] = float64(s.Total), float64(s.Users), s.ErrorRate*100
		latency[i], slow[i] = float64(s.LatencyMS.P50), float64(s.LatencyMS.P95)
	}
	from, to := axis(a)
	of := func(id, title, unit string, series ...[]float64) (chart, float64) {
		top := niceTop(series...)
		return chart{ID: id, Title: title, Top: strings.TrimSpace(fmt.Sprintf("%g %s", top, unit)), From: from, To: to}, top
	}
	c, top := of("calls", "Calls in each "+a.Step, "", called)
	c.Summary = fmt.Sprintf("%s in all, at most %.0f in one %s.", calls(a.Calls.Total), most(called), a.Step)
	c.Lines = []line{lineOf("first", "", called, top, true)}
	p, top := of("people", "People who called in each "+a.Step, "", people)
	p.Summary = fmt.Sprintf("At most %.0f in one %s. A person who called twice is counted once.", most(people), a.Step)
	p.Lines = []line{lineOf("first", "", people, top, true)}
	e, top := of("errors", "Calls that failed, of those that were let through", "%", errors)
	e.Summary = fmt.Sprintf("%s of all calls failed, at most %.1f %% in one %s.", percent(a.Calls.ErrorRate), most(errors), a.Step)
	e.Bars = barsOf(errors, top)
	l, top := of("latency", "Time that calls took", "ms", latency, slow)
	l.Summary = fmt.Sprintf("Half of the calls took at most %s, and 95 %% at most %s.", console.Took(a.Calls.LatencyMS.P50), console.Took(a.Calls.LatencyMS.P95))
	l.Lines = []line{lineOf("first", "half of the calls", latency, top, false), lineOf("second", "95 % of the calls", slow, top, false)}
	return []chart{c, p, e, l}
}

// axis returns the ends of the axis of time.
func axis(a overview.Analytics) (from, to string) {
	form := "2 Jan 15:04"
	if a.Step == "day" {
		form = "2 January"
	}
	return a.From.UTC().Format(form), a.To.UTC().Format(form) + zone(a)
}

func zone(a overview.Analytics) string {
	if a.Step == "day" {
		return ""
	}
	return " UTC"
}

func most(values []float64) float64 {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	return top
}

// niceTop returns the end of an axis that has all values: 1, 2 or 5 with zeros.
func niceTop(series ...[]float64) float64 {
	top := 0.0
	for _, values := range series {
		top = max(top, most(values))
	}
	for scale := 1.0; ; scale *= 10 {
		for _, n := range []float64{1, 2, 5} {
			if top <= n*scale {
				return n * scale
			}
		}
	}
}

// lineOf returns a line through the middle of each step.
func lineOf(class, label string, values []float64, top float64, area bool) line {
	var points strings.Builder
	width := chartWidth / float64(max(1, len(values)))
	for i, v := range values {
		fmt.Fprintf(&points, "%.1f,%.1f ", (float64(i)+0.5)*width, chartHeight-v/top*chartHeight)
	}
	l := line{Class: class, Label: label, Points: strings.TrimSpace(points.String())}
	if area && len(values) > 0 {
		l.Area = fmt.Sprintf("%.1f,%d %s %.1f,%d", width/2, chartHeight, l.Points, chartWidth-width/2, chartHeight)
	}
	return l
}

// barsOf returns a bar for each step that has a value.
func barsOf(values []float64, top float64) []bar {
	var bars []bar
	width := chartWidth / float64(max(1, len(values)))
	for i, v := range values {
		if v > 0 {
			height := max(1, v/top*chartHeight)
			bars = append(bars, bar{
				fmt.Sprintf("%.1f", (float64(i)+0.15)*width), fmt.Sprintf("%.1f", chartHeight-height),
				fmt.Sprintf("%.1f", 0.7*width), fmt.Sprintf("%.1f", height),
			})
		}
	}
	return bars
}

// stepTime returns the time of a step as the table has it.
func stepTime(at time.Time, step string) string {
	if step == "day" {
		return at.UTC().Format("2 January 2006")
	}
	return at.UTC().Format("2 January, 15:04")
}
