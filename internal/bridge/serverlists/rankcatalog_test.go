// Copyright 2026 The hosted-bridge Authors.
// SPDX-License-Identifier: Apache-2.0

package serverlists

import "strings"

// about is what servers are for, as a user would describe them.
var about = map[string]string{
	"github":     "Repositories, issues and pull requests on GitHub",
	"files":      "Files and folders on this machine",
	"slack":      "Chat with the team",
	"postgres":   "The sales database",
	"gmail":      "Personal e-mail",
	"calendar":   "Appointments",
	"browser":    "A web browser that can be driven",
	"search":     "",
	"notion":     "Notes and wiki pages",
	"stripe":     "Payments",
	"weather":    "",
	"memory":     "A knowledge graph that remembers across chats",
	"kubernetes": "The staging cluster",
}

// listed are tools as servers in use describe theirs: server, name, description
// and arguments.
var listed = strings.TrimSpace(`
github|create_issue|Create a new issue in a GitHub repository|owner repo title body labels assignees
github|list_issues|List issues in a GitHub repository with filtering options|owner repo state labels since
github|get_issue|Get details of a specific issue|owner repo issue_number
github|add_issue_comment|Add a comment to an existing issue|owner repo issue_number body
github|search_code|Search for code across GitHub repositories|q sort order
github|search_repositories|Search for GitHub repositories|query page perPage
github|create_pull_request|Create a new pull request in a GitHub repository|owner repo title head base draft
github|merge_pull_request|Merge a pull request|owner repo pull_number merge_method
github|list_commits|Get list of commits of a branch|owner repo sha
github|create_branch|Create a new branch|owner repo branch from_branch
github|fork_repository|Fork a repository to your account or an organization|owner repo
github|get_file_contents|Get the contents of a file or directory from a repository|owner repo path ref
files|read_file|Read the complete contents of a file from the file system|path head tail
files|write_file|Create a new file or completely overwrite an existing file with new content|path content
files|edit_file|Make line-based edits to a text file|path edits dryRun
files|create_directory|Create a new directory or ensure it exists|path
files|list_directory|Get a detailed listing of all files and directories in a path|path
files|move_file|Move or rename files and directories|source destination
files|search_files|Recursively search for files and directories matching a pattern|path pattern
files|get_file_info|Retrieve metadata about a file: size, permissions, modification time|path
files|delete_file|Delete a file|path
slack|slack_post_message|Post a new message to a Slack channel|channel_id text
slack|slack_reply_to_thread|Reply to a specific message thread|channel_id thread_ts text
slack|slack_list_channels|List public channels in the workspace|limit cursor
slack|slack_add_reaction|Add a reaction emoji to a message|channel_id timestamp reaction
slack|slack_get_channel_history|Get recent messages from a channel|channel_id limit
slack|slack_get_users|Get a list of all users in the workspace|cursor limit
postgres|query|Run a read-only SQL query|sql
postgres|list_tables|List the tables of a schema|schema
postgres|describe_table|Show the columns and types of a table|schema table
postgres|explain_query|Show the execution plan of a statement|sql analyze
gmail|send_email|Sends a new email|to subject body cc attachments
gmail|search_emails|Searches for emails using Gmail search syntax|query maxResults
gmail|read_email|Retrieves the content of a specific email|messageId
gmail|draft_email|Draft a new email without sending it|to subject body
gmail|delete_email|Permanently deletes an email|messageId
gmail|modify_labels|Adds or removes labels of an email|messageId addLabelIds removeLabelIds
calendar|createEvent|Create an event with attendees and a time|summary start end attendees
calendar|listEvents|List upcoming events in a time range|timeMin timeMax
calendar|deleteEvent|Delete an event|eventId
calendar|findFreeSlots|Find times at which all attendees are free|attendees duration
browser|browser_navigate|Navigate to a URL|url
browser|browser_click|Click an element on the page|element ref
browser|browser_take_screenshot|Take a screenshot of the current page|filename fullPage
browser|browser_type|Type text into an editable element|element text submit
browser|browser_pdf_save|Save the page as PDF|filename
browser|browser_console_messages|Returns all console messages|level
search|web_search|Performs a web search and returns ranked results|query count offset
search|news_search|Searches news articles|query freshness
search|image_search|Searches for images|query count
notion|notion-create-page|Create a page in a workspace or database|parent title content
notion|notion-update-page|Update the properties or content of a page|page_id properties
notion|notion-search|Search over the workspace|query
notion|notion-get-comments|Get all comments of a page|page_id
stripe|create_customer|Create a customer|name email
stripe|list_invoices|List the invoices of a customer|customer limit
stripe|create_refund|Refund a payment|payment_intent amount reason
stripe|retrieve_balance|Retrieve the balance of the account|
weather|get-forecast|Get the weather forecast for a location|latitude longitude
weather|get-alerts|Get weather alerts for a US state|state
memory|create_entities|Create entities in the knowledge graph|entities
memory|search_nodes|Search for nodes in the knowledge graph|query
memory|read_graph|Read the entire knowledge graph|
kubernetes|kubectl_get|Get resources such as pods, deployments and services|kind name namespace
kubernetes|kubectl_logs|Get the logs of a pod|pod namespace tail
kubernetes|scaleDeployment|Scale a deployment to a number of replicas|name namespace replicas
kubernetes|kubectl_delete|Delete resources|kind name namespace
`)

// catalogOfTools returns the tools of listed.
func catalogOfTools() []searchable {
	var tools []searchable
	for line := range strings.SplitSeq(listed, "\n") {
		parts := strings.Split(line, "|")
		tools = append(tools, searchable{
			Server: parts[0], About: about[parts[0]], Name: parts[1], Description: parts[2], Arguments: strings.Fields(parts[3]),
		})
	}
	return tools
}
