// Lists projects, creates an export and an invite with a client that oapi-codegen generated.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"

	"example.com/tenantry/tenantry"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	url, key := os.Args[1], os.Args[2]
	ctx := context.Background()
	client, err := tenantry.NewClientWithResponses(url, tenantry.WithRequestEditorFn(
		func(_ context.Context, request *http.Request) error {
			request.Header.Set("Authorization", "Bearer "+key)
			return nil
		},
	))
	check(err)

	projects, err := client.ListProjectsWithResponse(ctx, &tenantry.ListProjectsParams{})
	check(err)
	for _, project := range projects.JSON200.Results {
		fmt.Println("project", project.Id, project.Name)
	}

	token := "secret"
	var destination tenantry.BatchExportDestination
	check(destination.FromHTTPDestination(tenantry.HTTPDestination{
		Type:   tenantry.HTTPDestinationTypeHTTP,
		Config: tenantry.HTTPDestinationConfig{Url: "https://example.com/events", Token: &token},
	}))
	paused := true
	export, err := client.CreateProjectBatchExportWithResponse(
		ctx,
		strconv.Itoa(int(projects.JSON200.Results[0].Id)),
		&tenantry.CreateProjectBatchExportParams{},
		tenantry.CreateProjectBatchExportJSONRequestBody{
			Name:        "From Go",
			Interval:    tenantry.CreateProjectBatchExportJSONBodyIntervalEvery5Minutes,
			Destination: destination,
			Paused:      &paused,
		},
	)
	check(err)
	created := export.JSON201
	fmt.Println("export", created.Id, created.Name, created.Destination.Type, created.Destination.Config["url"])

	sendEmail := false
	invite, err := client.CreateInviteWithResponse(
		ctx,
		"@current",
		&tenantry.CreateInviteParams{},
		tenantry.CreateInviteJSONRequestBody{TargetEmail: "go@example.com", SendEmail: &sendEmail},
	)
	check(err)
	fmt.Println("invite", invite.JSON201.Id, invite.JSON201.TargetEmail)
}
