// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build bench && linux

package scale

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// markdown returns the tables for docs/benchmarks.md.
func (r Results) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s; %.0f minutes\n\n", r.Plan, r.Seconds/60)
	b.WriteString("| operator | tenants | added, a second | apply → children p50, p99 s | apply → Ready p50, p99 s | late | writes a tenant | reconcile p50, p99 ms | operator CPU ms a tenant | operator MB (live) |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	provisionRows(&b, "hosted-bridge", r.Ours, "hosted-bridge-operator")
	provisionRows(&b, "toolhive", r.Peer, toolhive)

	b.WriteString("\n| what | hosted-bridge | toolhive |\n| --- | --- | --- |\n")
	row := func(what string, of func(f Figures) string) {
		peer := "-"
		if len(r.Peer.Provision) > 0 {
			peer = of(r.Peer)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", what, of(r.Ours), peer)
	}
	row("writes a tenant, by kind", func(f Figures) string { return perLine(f.last().Kinds) })
	row("writes besides lease renewals, nothing happening", func(f Figures) string {
		return fmt.Sprintf("%d in %.0f s%s", f.QuietWrites, f.QuietSeconds, inBrackets(perLine(f.QuietKinds)))
	})
	row("lease renewals in that time", func(f Figures) string { return fmt.Sprint(f.QuietRenewals) })
	row("live heap of the operator for each tenant", func(f Figures) string {
		return fmt.Sprintf("%.1f KiB", (f.QuietMemory["operator"].Live-f.Empty["operator"].Live)*1024/float64(f.Burst.Tenants))
	})
	row("etcd's file, and its part in use", func(f Figures) string { return fmt.Sprintf("%.0f MB, %.0f MB", f.QuietEtcd.File, f.QuietEtcd.Used) })

	b.WriteString("\n| hosted-bridge alone | |\n| --- | --- |\n")
	own := func(what, figure string) { fmt.Fprintf(&b, "| %s | %s |\n", what, figure) }
	o := r.Ours
	own(fmt.Sprintf("%d tenants fall asleep: writes for each", o.AsleepTenants), perLine(o.AsleepKinds))
	own(fmt.Sprintf("a change of one profile of %d, until all %d tenants have it, half of them asleep", profileCount, o.ProfileTenants), fmt.Sprintf("%.0f s", o.ProfileSeconds))
	own("writes for each of them", perLine(o.ProfileKinds))
	own("writes in the minute afterwards", fmt.Sprint(o.ProfileQuiet))
	own("kill -9 of the leader, until a new tenant has its children", fmt.Sprintf("%.1f s", o.Killed))
	own("SIGINT to the leader, the same", fmt.Sprintf("%.1f s", o.Graceful))
	own("answers from the ingress's table meanwhile, and wrong ones", fmt.Sprintf("%d, %d", o.Traffic.Asked, o.Traffic.Wrong))
	own(fmt.Sprintf("restart with %d tenants, until a new tenant has its children", o.Restart.Tenants), fmt.Sprintf("%.1f s", o.Restart.Seconds))
	own("the same, until all have been looked at", fmt.Sprintf("%.1f s", o.Restart.Looked))
	own("writes after the start", fmt.Sprintf("%d%s", o.Restart.Writes, inBrackets(o.Restart.Kinds)))
	own(fmt.Sprintf("%d sleepers are called within %s: answers", o.WokenTenants, within), fmt.Sprint(o.WokenAnswers))
	own("the same, until the answer of their bridge, p50 and p99", fmt.Sprintf("%.2f s, %.2f s", o.Answered.P50, o.Answered.P99))
	own("the same, writes for each", perLine(o.WokenKinds))
	own("the same, processors of each process", perLine(o.WokenCPU))
	own("deletion of all, until nothing is left", fmt.Sprintf("%.0f s, left: %v", o.DeletionSeconds, o.Left))
	memoryTable(&b, o)
	return b.String()
}

func (f Figures) last() Provision {
	if len(f.Provision) == 0 {
		return Provision{}
	}
	return f.Provision[len(f.Provision)-1]
}

func provisionRows(b *strings.Builder, name string, f Figures, account string) {
	rows := f.Provision
	if f.Burst.Added > 0 {
		rows = append(slices.Clone(rows), f.Burst)
	}
	for _, p := range rows {
		fmt.Fprintf(b, "| %s | %d | %d, %.0f | %.2f, %.2f | %.2f, %.2f | %d | %.1f | %.1f, %.1f | %.1f | %s |\n", name, p.Tenants, p.Added, p.Taken,
			p.Children.P50, p.Children.P99, p.Ready.P50, p.Ready.P99, p.Late, p.Writes[account], p.Reconcile.P50*1e3, p.Reconcile.P99*1e3, p.CPU["operator"], p.Memory["operator"])
	}
}

// memoryTable has the memory of all processes at each size, and when all is
// calm.
func memoryTable(b *strings.Builder, f Figures) {
	b.WriteString("\n| resident MB (live) | no tenants |")
	for _, p := range f.Provision {
		fmt.Fprintf(b, " %d |", p.Tenants)
	}
	b.WriteString(" calm, half asleep | CPU, calm |\n| --- | --- | --- | --- |" + strings.Repeat(" --- |", len(f.Provision)) + "\n")
	for _, name := range slices.Sorted(maps.Keys(f.Empty)) {
		fmt.Fprintf(b, "| %s | %s |", name, f.Empty[name])
		for _, p := range f.Provision {
			fmt.Fprintf(b, " %s |", p.Memory[name])
		}
		fmt.Fprintf(b, " %s | %s |\n", f.QuietMemory[name], f.QuietCPU[name])
	}
}

func perLine(of map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(of)) {
		if of[name] != "" {
			lines = append(lines, strings.TrimPrefix(name, "hosted-bridge-")+": "+of[name])
		}
	}
	return strings.Join(lines, "; ")
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
