/**
 * Apache Iceberg's own REST catalog. It keeps the metadata of tables in memory, and vends the
 * credentials of their bucket.
 * java org.apache.iceberg.rest.Catalog <port> <S3 endpoint> <key id> <key>
 */
package org.apache.iceberg.rest;

import java.util.Map;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.credentials.ImmutableCredential;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

public class Catalog {
  public static void main(String[] args) throws Exception {
    JdbcCatalog catalog = new JdbcCatalog();
    catalog.initialize(
        "tests",
        Map.of(
            "uri", "jdbc:sqlite:catalog.db",
            "jdbc.schema-version", "V1",
            "warehouse", "s3://exports/warehouse",
            "io-impl", "org.apache.iceberg.inmemory.InMemoryFileIO"));
    Map<String, String> vended =
        Map.of(
            "s3.endpoint", args[1],
            "s3.path-style-access", "true",
            "s3.access-key-id", args[2],
            "s3.secret-access-key", args[3],
            "s3.region", "auto");
    RESTCatalogAdapter adapter =
        new RESTCatalogAdapter(catalog) {
          @Override
          public <T extends RESTResponse> T handleRequest(
              Route route, Map<String, String> variables, Object body, Class<T> type) {
            T answer = super.handleRequest(route, variables, body, type);
            if (!(answer instanceof LoadTableResponse)) return answer;
            LoadTableResponse table = (LoadTableResponse) answer;
            return type.cast(
                LoadTableResponse.builder()
                    .withTableMetadata(table.tableMetadata())
                    .addAllConfig(table.config())
                    .addCredential(
                        ImmutableCredential.builder().prefix("s3://exports/").config(vended).build())
                    .build());
          }
        };
    Server server = new Server();
    ServerConnector connector = new ServerConnector(server);
    connector.setHost("127.0.0.1");
    connector.setPort(Integer.parseInt(args[0]));
    server.addConnector(connector);
    ServletContextHandler context = new ServletContextHandler();
    context.addServlet(new ServletHolder(new RESTCatalogServlet(adapter)), "/*");
    server.setHandler(context);
    server.start();
    server.join();
  }
}
