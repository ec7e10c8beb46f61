#include <stdlib.h>
#include <string.h>
#include <pthread.h>
__attribute__((noinline)) int boom(char*p,int n){ return p[n]; }
__attribute__((noinline)) int mid(int n){ char*p=malloc(8); free(p); int r=boom(p,n); return r+1; }
__attribute__((noinline)) int ub(int n){ int x=2147483647; return x+n; }
int g; void* th(void*a){ g++; return a; }
int main(int c,char**v){
  if(c==1) return mid(3)+2;
  if(v[1][0]=='u') return ub(c)+1;
  if(v[1][0]=='t'){ pthread_t t; pthread_create(&t,0,th,0); g++; pthread_join(t,0); return 0;}
  if(v[1][0]=='m'){ int*a=malloc(8); if(*a) return ub(3)-4; return 0;}
  if(v[1][0]=='s'){ *(volatile int*)0=1; }
  return 0; }
