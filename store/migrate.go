package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Migrations only go forward and are never edited once landed (D6). Each of them
// sets user_version to its own number.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

func embeddedMigrations() fs.FS {
	sub, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// knownVersion is the newest schema version among migrations.
func knownVersion(migrations fs.FS) (int64, error) {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return 0, err
	}
	var newest int64
	for _, name := range names {
		v, err := goose.NumericComponent(name)
		if err != nil {
			return 0, err
		}
		newest = max(newest, v)
	}
	return newest, nil
}

// refuseNewer fails with CodeNewer if a program with a newer schema wrote the
// file. It writes nothing.
func refuseNewer(v fileVersion, known int64) error {
	if v.schema <= known {
		return nil
	}
	return &Error{Code: CodeNewer, Message: fmt.Sprintf(
		"The data folder has schema version %d and this program knows versions up to %d; "+
			"update the program, or restore a backup of version %d. Nothing was changed.", v.schema, known, known)}
}

// refuseForeign fails with CodeCorrupt if a file without a schema version of ours
// has tables: then it is not one whose creation was cut short.
func refuseForeign(ctx context.Context, db *sql.DB, path string) error {
	var n int
	err := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema
		WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\' AND tbl_name <> ?`, goose.DefaultTablename).Scan(&n)
	if err == nil && n > 0 {
		err = foreignFile(path)
	}
	return translate(err, "schema")
}

// migrate brings the file to the newest schema version. Each migration is one
// transaction. Goose takes any failure to read its own table, damage included, for
// a missing table; the backup before has read the whole file.
func migrate(ctx context.Context, db *sql.DB, migrations fs.FS) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, db, migrations,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return translate(err, "schema")
	}
	_, err = p.Up(ctx)
	var partial *goose.PartialError
	if errors.As(err, &partial) {
		err = partial.Err
	}
	return translate(err, "schema")
}
