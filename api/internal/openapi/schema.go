package openapi

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/aoagents/ao-host/abi"
	"github.com/aoagents/ao-host/host"
)

// schemas makes the component schemas of the types it meets.
type schemas struct {
	src *source
	// done are the components by name, and their types, so that two types cannot
	// share a name.
	done  *object
	types map[string]reflect.Type
	// required are the members that a request's body must have, by type.
	required map[reflect.Type][]string
	// answered are the types that occur in answers. Others are only read by the
	// server, which knows all their members.
	answered map[reflect.Type]bool
}

var (
	rawType   = reflect.TypeFor[abi.Raw]()
	timeType  = reflect.TypeFor[time.Time]()
	eventType = reflect.TypeFor[host.Event]()
)

// name is the name of a type in the document. What package abi names like a type
// of package host is the agent's part of it.
func (s *schemas) name(t reflect.Type) string {
	if t.PkgPath() == modulePath+"/abi" {
		if _, both := s.src.types[modulePath+"/host."+t.Name()]; both {
			return "Agent" + t.Name()
		}
	}
	return t.Name()
}

// of returns the schema of a type, a reference where it is a component.
func (s *schemas) of(t reflect.Type) (*object, error) {
	switch t {
	case rawType:
		return obj(), nil
	case timeType:
		return obj("type", "string", "format", "date-time"), nil
	case eventType:
		return s.component("Event", t, s.events)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Bool:
		return obj("type", "boolean"), nil
	case reflect.Int, reflect.Int64:
		return obj("type", "integer", "format", "int64"), nil
	case reflect.Uint64:
		return obj("type", "integer", "format", "int64", "minimum", 0), nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return obj("type", "string", "contentEncoding", "base64"), nil
		}
		items, err := s.of(t.Elem())
		return obj("type", "array", "items", items), err
	case reflect.Map:
		values, err := s.of(t.Elem())
		return obj("type", "object", "additionalProperties", values), err
	case reflect.String:
		if t.PkgPath() == "" {
			return obj("type", "string"), nil
		}
		return s.component(s.name(t), t, s.enum)
	case reflect.Struct:
		if strings.HasPrefix(t.Name(), "List[") {
			return s.structure(t)
		}
		return s.component(s.name(t), t, s.structure)
	}
	return nil, fmt.Errorf("type %s has no form in JSON Schema here", t)
}

func (s *schemas) component(name string, t reflect.Type, make func(reflect.Type) (*object, error)) (*object, error) {
	ref := obj("$ref", "#/components/schemas/"+name)
	if known, ok := s.types[name]; ok {
		if known != t {
			return nil, fmt.Errorf("%s and %s would both be named %s", known, t, name)
		}
		return ref, nil
	}
	s.types[name] = t
	s.done.set(name, nil)
	o, err := make(t)
	if err != nil {
		return nil, err
	}
	s.done.set(name, o)
	return ref, nil
}

func (s *schemas) enum(t reflect.Type) (*object, error) {
	values := s.src.values[typeKey(t)]
	if len(values) == 0 {
		return nil, fmt.Errorf("type %s has no constants", t)
	}
	var all []string
	text := s.src.types[typeKey(t)]
	for _, v := range values {
		all = append(all, v.value)
		if v.doc != "" {
			text += fmt.Sprintf("\n- `%s`: %s", v.value, v.doc)
		}
	}
	return obj("description", text, "type", "string", "enum", all), nil
}

func (s *schemas) structure(t reflect.Type) (*object, error) {
	properties := obj()
	// The body of a request names its required members itself.
	required, isBody := s.required[t]
	err := s.properties(t, properties, func(name string) {
		if !isBody {
			required = append(required, name)
		}
	})
	if err != nil {
		return nil, err
	}
	o := obj("description", s.src.types[typeKey(t)], "type", "object")
	if len(required) > 0 {
		o.set("required", required)
	}
	o.set("properties", properties)
	if !s.answered[t] {
		o.set("additionalProperties", false)
	}
	return o, nil
}

// properties adds the members of a struct, but for those that the caller makes.
func (s *schemas) properties(t reflect.Type, into *object, require func(string), but ...string) error {
	for f := range t.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case tag == "-" || slices.Contains(but, tag):
			continue
		case f.Anonymous && tag == "":
			if err := s.properties(f.Type, into, require); err != nil {
				return err
			}
			continue
		case tag == "":
			return fmt.Errorf("%s.%s has no json tag", t, f.Name)
		}
		p, err := s.of(f.Type)
		if err != nil {
			return err
		}
		optional := slices.Contains(strings.Split(options, ","), "omitempty")
		if f.Type.Kind() == reflect.Pointer && f.Type.Elem().Kind() == reflect.String && p.get("$ref") != nil {
			// Only a patch points to a choice, and there the empty string resets it.
			p = obj("anyOf", []any{p, map[string]string{"const": ""}})
		}
		p.set("description", s.src.fields[typeKey(t)][f.Name])
		into.set(tag, p)
		if !optional {
			require(tag)
		}
	}
	return nil
}

// events is the union of all journal events, told apart by their type.
func (s *schemas) events(t reflect.Type) (*object, error) {
	bodies := host.EventBodies()
	var all []any
	for _, v := range s.src.values[modulePath+"/host.EventType"] {
		body, ok := bodies[host.EventType(v.value)]
		if !ok {
			return nil, fmt.Errorf("the body of the event %s is not known", v.value)
		}
		properties := obj()
		required := []string{"type"}
		err := s.properties(t, properties, func(name string) { required = append(required, name) }, "type", "body")
		if err != nil {
			return nil, err
		}
		properties.set("type", obj("const", v.value))
		if body != nil {
			ref, err := s.of(body)
			if err != nil {
				return nil, err
			}
			properties.set("body", ref)
			required = append(required, "body")
		}
		all = append(all, obj("title", v.value, "type", "object", "required", required, "properties", properties))
	}
	return obj("description", "One numbered entry of the journal; type says what the body is. A reader passes over types it does not know.", "oneOf", all), nil
}

// closure adds a type and all it is made of.
func closure(t reflect.Type, into map[reflect.Type]bool) {
	switch {
	case t == nil || t == timeType || into[t]:
		return
	case t == eventType:
		for _, body := range host.EventBodies() {
			closure(body, into)
		}
	}
	into[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		closure(t.Elem(), into)
	case reflect.Struct:
		for f := range t.Fields() {
			if f.Tag.Get("json") != "-" {
				closure(f.Type, into)
			}
		}
	}
}
